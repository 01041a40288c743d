/**
 * What stands for one visitor's network: an IPv4 address, or the /64 of an IPv6 address, within which a visitor has
 * as many addresses as they like.
 */
export function addressBlock(address: string): string {
  const bare = address.split('%', 1)[0]!
  // IPv4 as an IPv6 socket sees it.
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
