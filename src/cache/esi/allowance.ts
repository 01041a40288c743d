import type { Lease } from '../../lib/byte-budget.ts'

/** Memory that an assembly takes, as a multiple of its texts: parts, joined page and its coding. */
export const memoryShare = 4

/** What a page may still take for its fragments at any depth. They share it in the order in which they arrive. */
export class Allowance {
  #includes: number
  #bytes: number
  readonly #lease: Lease | null

  /**
   * @param includes that may be followed
   * @param bytes of the texts of all fragments
   * @param lease on the memory for assemblies; null where nothing is assembled
   */
  constructor(includes: number, bytes: number, lease: Lease | null) {
    this.#includes = includes
    this.#bytes = bytes
    this.#lease = lease
  }

  /** Number of includes that may still be followed. */
  get includes(): number {
    return this.#includes
  }

  /** Bytes that texts may still have. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether one more include may be followed. */
  takeInclude(): boolean {
    if (this.#includes === 0) return false
    this.#includes -= 1
    return true
  }

  /** Takes the bytes of a text; false when the page would get too large. */
  takeBytes(bytes: number): boolean {
    if (bytes > this.#bytes) return false
    this.charge(bytes)
    return true
  }

  /** Takes the bytes of a text, whether or not they fit. Negative ones are returned. */
  charge(bytes: number): void {
    this.#bytes -= bytes
    this.#lease?.grow(bytes * memoryShare)
  }
}
