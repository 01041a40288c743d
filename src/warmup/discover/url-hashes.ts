import { randomInt } from 'node:crypto'
import { hashText } from '../../lib/hash-text.ts'

/**
 * A set of strings that stores only their 64-bit hashes: sixteen bytes per URL. Among a million URLs a collision occurs once in
 * thirty million runs; the random seed prevents prepared collisions.
 */
export class UrlHashes {
  #slots = new Uint32Array(2 * 1024)
  #size = 0
  readonly #seed = randomInt(1, 2 ** 32 - 1)

  /** @returns false if the set contains it already */
  add(text: string): boolean {
    const [high, low] = hashText(text, this.#seed)
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

/** Inserts with open addressing; a slot of two zeros is free. */
function insert(slots: Uint32Array, high: number, low: number): boolean {
  const capacity = slots.length / 2
  for (let slot = low & (capacity - 1); ; slot = (slot + 1) & (capacity - 1)) {
    const at = slot * 2
    if (slots[at] === 0 && slots[at + 1] === 0) {
      slots[at] = high
      slots[at + 1] = low
      return true
    }
    if (slots[at] === high && slots[at + 1] === low) return false
  }
}
