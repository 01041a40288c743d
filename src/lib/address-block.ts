/**
 * The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since a client can use any address within it.
 */
export function addressBlock(address: string): string {
  const bare = address.split('%', 1)[0]!
  // An IPv4 address, or an IPv4-mapped one as an IPv6 socket reports it.
  if (bare.includes('.')) return bare.slice(bare.lastIndexOf(':') + 1)
  const [head = '', tail] = bare.toLowerCase().split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...front, ...Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0'), ...back]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
