/** A set of URLs of a batch: one bit per URL, lowest first, stored as base64. */
export class UrlBits {
  readonly #bits: Buffer
  readonly #size: number
  #count = 0

  constructor(size: number, stored = '') {
    this.#size = size
    this.#bits = Buffer.alloc(Math.ceil(size / 8))
    Buffer.from(stored, 'base64').copy(this.#bits)
    for (let index = 0; index < size; index++) if (this.has(index)) this.#count++
  }

  get count(): number {
    return this.#count
  }

  /** Whether the set contains all URLs of the batch. */
  get complete(): boolean {
    return this.#count === this.#size
  }

  has(index: number): boolean {
    return (this.#bits[index >> 3]! & (1 << (index & 7))) !== 0
  }

  /** @returns false if the set contained it already */
  add(index: number): boolean {
    if (this.has(index)) return false
    this.#bits[index >> 3]! |= 1 << (index & 7)
    this.#count++
    return true
  }

  toString(): string {
    return this.#bits.toString('base64')
  }
}
