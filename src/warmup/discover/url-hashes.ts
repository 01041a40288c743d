import { randomInt } from 'node:crypto'

/**
 * A set of texts by 64 bits of hash each: sixteen bytes a URL instead of the URL. Two of a million URLs have the same
 * hash once in thirty million runs; the seed is drawn, so that nobody can prepare such a pair.
 */
export class UrlHashes {
  #slots = new Uint32Array(2 * 1024)
  #size = 0
  readonly #seed = randomInt(1, 2 ** 32 - 1)

  /** @returns false when it is there already */
  add(text: string): boolean {
    const [high, low] = hash(text, this.#seed)
    if (!insert(this.#slots, high, low)) return false
    this.#size++
    if (this.#size * 2 > this.#slots.length / 2) this.#grow()
    return true
  }

  #grow(): void {
    const grown = new Uint32Array(this.#slots.length * 2)
    for (let at = 0; at < this.#slots.length; at += 2) {
      if (this.#slots[at] !== 0 || this.#slots[at + 1] !== 0) insert(grown, this.#slots[at]!, this.#slots[at + 1]!)
    }
    this.#slots = grown
  }
}

/** Open addressing; a slot of two zeros is free. */
function insert(slots: Uint32Array, high: number, low: number): boolean {
  const places = slots.length / 2
  for (let place = low & (places - 1); ; place = (place + 1) & (places - 1)) {
    const at = place * 2
    if (slots[at] === 0 && slots[at + 1] === 0) {
      slots[at] = high
      slots[at + 1] = low
      return true
    }
    if (slots[at] === high && slots[at + 1] === low) return false
  }
}

/** Two 32-bit lanes with different multipliers (cyrb53's, with both lanes kept whole); never both zero. */
function hash(text: string, seed: number): [high: number, low: number] {
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
