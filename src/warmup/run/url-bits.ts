/** Some URLs of a batch: one bit each, lowest first, as base64 in the record. */
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

  /** Whether all URLs of the batch are in it. */
  get complete(): boolean {
    return this.#count === this.#size
  }

  has(index: number): boolean {
    return (this.#bits[index >> 3]! & (1 << (index & 7))) !== 0
  }

  /** @returns false when it was in it before */
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
