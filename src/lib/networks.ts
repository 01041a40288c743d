import { BlockList, isIP, isIPv6 } from 'node:net'

/** Builds a block list from addresses and networks in the configuration. */
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

/** An address; of an IPv4-mapped IPv6 address its IPv4 address (RFC 4291 §2.5.5.2). */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Whether an address is in a list, as its plain address. */
export function isIn(list: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false
  const plain = plainAddress(address)
  const family = isIP(plain)
  return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}

export function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}
