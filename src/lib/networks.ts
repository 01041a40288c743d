import { BlockList, isIP, isIPv6 } from 'node:net'

/** Addresses and networks, as they stand in the configuration. */
export function networks(list: readonly string[]): BlockList {
  const blocks = new BlockList()
  for (const entry of list) {
    const [address, prefix] = entry.split('/')
    const family = isIPv6(address!) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) blocks.addAddress(address!, family)
    else blocks.addSubnet(address!, Number(prefix), family)
  }
  return blocks
}

/** An IPv4 address that came over an IPv6 socket is the IPv4 address (RFC 4291 §2.5.5.2). */
export function isIn(list: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  const family = isIP(plain)
  return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}

export function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}
