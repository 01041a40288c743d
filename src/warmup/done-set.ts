/** Which URLs of a batch are done: one bit each, lowest first, as base64 in the record. */
export class DoneSet {
  readonly #bits: Buffer
  readonly #size: number
  #count = 0

  constructor(size: number, stored = '') {
    this.#size = size
    this.#bits = Buffer.alloc(Math.ceil(size / 8))
    Buffer.from(stored, 'base64').copy(this.#bits)
    for (let index = 0; index < size; index++) if (this.has(index)) this.#count++
  }

  get complete(): boolean {
    return this.#count === this.#size
  }

  has(index: number): boolean {
    return (this.#bits[index >> 3]! & (1 << (index & 7))) !== 0
  }

  /** Each index is added once. */
  add(index: number): void {
    this.#bits[index >> 3]! |= 1 << (index & 7)
    this.#count++
  }

  toString(): string {
    return this.#bits.toString('base64')
  }
}
