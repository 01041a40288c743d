import { SteadyMap } from '../lib/steady-map.ts'
import { transcode } from '../pages/codec.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Encoding, Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import type { SendingBudgets } from './in-flight.ts'
import type { ByteRange } from './range.ts'
import { openStoredBody } from './stored-body.ts'
import { Transcodes } from './transcodes.ts'
import { storedAs, toHeldPage, type HeldPage } from './view.ts'
import type { StreamedBody } from './visit.ts'

export type PageBody = Buffer | StreamedBody

interface Parts {
  store: PageStore
  memory: MemoryTier
  budgets: SendingBudgets
}

/**
 * Provides the bodies of pages. Small bodies come from memory or are loaded into it; large ones are streamed from their
 * files (docs/decisions/0048-bodies-in-pieces.md).
 */
export class Bodies {
  readonly #parts: Parts & { transcodes: Transcodes }
  readonly #loading = new SteadyMap<string, Promise<HeldPage | null>>()
  readonly #making = new WeakMap<HeldPage, Map<Encoding, Promise<Buffer>>>()

  constructor(parts: Parts) {
    this.#parts = { ...parts, transcodes: new Transcodes(parts.store, parts.budgets) }
  }

  /** Opens the body in one coding; null when the body no longer exists. */
  async open(held: HeldPage, encoding: Encoding): Promise<PageBody | null> {
    const atHand = held.bodies[encoding]
    if (atHand !== undefined && this.#maySend(held, atHand)) return atHand
    const { page } = held
    const stored = storedAs(held)
    if (stored === null) return this.#make(held, encoding)
    const small = this.#belongs(page.size) && (encoding === page.encoding || this.#belongs(page.originalSize))
    if (!small || atHand !== undefined) return openStoredBody(this.#parts, stored, { encoding, range: null })
    const loaded = await this.#load(held, stored)
    return loaded === null ? null : (loaded.bodies[encoding] ?? this.#make(loaded, encoding))
  }

  /**
   * Cuts a range out of the identity body; `whole` when that would decode a large body, null when the body no longer
   * exists.
   */
  async cut(held: HeldPage, range: ByteRange): Promise<PageBody | 'whole' | null> {
    const { page } = held
    const stored = storedAs(held)
    const slice = (body: Buffer) => body.subarray(range.start, range.end + 1)
    const atHand = held.bodies.identity
    if (atHand !== undefined && this.#maySend(held, atHand)) return slice(atHand)
    if (stored !== null && page.encoding === 'identity' && (atHand !== undefined || !this.#belongs(page.size))) {
      return openStoredBody(this.#parts, stored, { encoding: 'identity', range })
    }
    if (stored !== null && !this.#belongs(Math.max(page.size, page.originalSize))) return 'whole'
    const body = await this.open(held, 'identity')
    return Buffer.isBuffer(body) ? slice(body) : body === null ? null : discarded(body)
  }

  /**
   * Whether a body in memory may be sent as it is. While many slow readers hold bodies, large ones are streamed from
   * their files.
   */
  #maySend(held: HeldPage, body: Buffer): boolean {
    return storedAs(held) === null || body.length <= pieceSize || !this.#parts.budgets.bodies.crowded
  }

  /** Whether a body of this size is loaded into memory now. */
  #belongs(bytes: number): boolean {
    const { memory, budgets } = this.#parts
    return memory.takes(bytes) && (bytes <= pieceSize || !budgets.bodies.crowded)
  }

  /** The page with its stored body in memory. Concurrent callers share one read. */
  #load(held: HeldPage, stored: Page): Promise<HeldPage | null> {
    const { page } = held
    if (held.bodies[page.encoding] !== undefined) return Promise.resolve(held)
    const name = `${page.id} ${stored.id} ${page.cachedAt}`
    const known = this.#loading.get(name)
    if (known !== undefined) return known
    const loading = this.#read(page, stored).finally(() => this.#loading.delete(name))
    this.#loading.set(name, loading)
    return loading
  }

  async #read(page: Page, stored: Page): Promise<HeldPage | null> {
    const { store, memory, budgets } = this.#parts
    const lease = await budgets.bodies.lease(page.size)
    try {
      // Taken before the body is read: a page that is removed meanwhile must not return to memory.
      const fence = store.fence()
      const body = await store.readBody(stored)
      if (body === null) return null
      return page.id === stored.id && store.holds(fence)
        ? memory.set(page, page.encoding, body)
        : toHeldPage(page, { [page.encoding]: body }, stored)
    } finally {
      lease.release()
    }
  }

  /** Encodes a page in memory once per coding, shared by concurrent callers and kept as long as the page. */
  #make(held: HeldPage, encoding: Encoding): Promise<Buffer> {
    let codings = this.#making.get(held)
    if (codings === undefined) this.#making.set(held, (codings = new Map()))
    let body = codings.get(encoding)
    if (body === undefined) {
      body = this.#transcode(held, encoding)
      codings.set(encoding, body)
    }
    return body
  }

  async #transcode(held: HeldPage, encoding: Encoding): Promise<Buffer> {
    const { memory, budgets } = this.#parts
    const { page, bodies } = held
    // Room for the decoded body, the encoded body and the buffers in between.
    const lease = await budgets.bodies.lease(page.originalSize * 2)
    try {
      const from = bodies.identity === undefined ? page.encoding : 'identity'
      const made = await transcode(bodies[from]!, from, encoding, page.originalSize)
      memory.addBody(held, encoding, made)
      return made
    } finally {
      lease.release()
    }
  }
}

function discarded(body: Exclude<PageBody, Buffer>): 'whole' {
  body.discard()
  return 'whole'
}
