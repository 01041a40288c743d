/**
 * Hashes a text with cyrb53, keeping both 32-bit lanes whole; never returns two zeros. A random seed prevents prepared collisions,
 * as long as the hashes are secret.
 */
export function hashText(text: string, seed: number): [high: number, low: number] {
  let one = 0xdeadbeef ^ seed
  let two = 0x41c6ce57 ^ seed
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    one = Math.imul(one ^ code, 2654435761)
    two = Math.imul(two ^ code, 1597334677)
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909)
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909)
  return [one >>> 0, two >>> 0 || 1]
}
