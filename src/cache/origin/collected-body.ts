import type { Readable } from 'node:stream'
import { resumed, type BudgetShare, type Collected } from '../body.ts'

/** How a body is collected: up to `limit` bytes, charged to the fetch's share of the budget. */
export interface CollectTerms {
  limit: number
  share: BudgetShare
  /** Gives the memory for an announced length. By default the body has memory of its own, which can be freed. */
  allocate?: (size: number) => Buffer
}

/** Memory for a body whose length is unknown, in bytes. It doubles when it is full. */
const firstPart = 16 * 1024
/** Memory that is allocated for an announced length before it has come, in bytes: a shop may announce more than it sends. */
const mostAhead = 64 * 1024

/** A body that is read into memory, without a stream. */
export class CollectedBody {
  readonly #terms: CollectTerms
  readonly #announced: number | null
  #bytes: Buffer
  #size = 0
  #over: 'limit' | 'budget' | null = null

  /** @param announced the length of the body in bytes; null when only its end will tell */
  constructor(terms: CollectTerms, announced: number | null) {
    this.#terms = terms
    this.#announced = announced
    const { allocate = Buffer.allocUnsafeSlow } = terms
    this.#bytes = allocate(Math.min(announced ?? firstPart, mostAhead))
  }

  /** Copies a piece; false when it exceeds the limit or the budget, which a piece that was not copied does too. */
  add(piece: Buffer): boolean {
    const { limit, share } = this.#terms
    const size = this.#size + piece.length
    const fits = share.take(piece.length)
    if (!fits || size > limit) {
      share.giveBack(piece.length)
      this.#over = size > limit ? 'limit' : 'budget'
      return false
    }
    if (size > this.#bytes.length) this.#grow(size)
    piece.copy(this.#bytes, this.#size)
    this.#size = size
    return true
  }

  #grow(size: number): void {
    const larger = Math.min(Math.max(size, this.#bytes.length * 2), this.#announced ?? Infinity)
    const bytes = Buffer.allocUnsafeSlow(larger)
    this.#bytes.copy(bytes, 0, 0, this.#size)
    this.#bytes = bytes
  }

  whole(): Collected {
    return { kind: 'whole', body: this.#exact() }
  }

  /** The body in memory, of exactly its size. */
  #exact(): Buffer {
    if (this.#size === this.#bytes.length) return this.#bytes
    const exact = Buffer.allocUnsafeSlow(this.#size)
    this.#bytes.copy(exact, 0, 0, this.#size)
    return exact
  }

  /** A stream of what was collected, and of the rest. It gives the share of the budget back. */
  streamed(rest: Readable): Collected {
    const collected = this.#size === 0 ? [] : [this.#exact()]
    const iterator = rest.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
    return { kind: 'overflow', over: this.#over!, stream: resumed(collected, iterator, rest, this.#terms.share) }
  }

  /** Gives the share of the budget back: the body broke off. */
  release(): void {
    this.#terms.share.release()
  }
}
