import { setTimeout as pause } from 'node:timers/promises'
import type { SharedPages } from '../cluster/shared/shared-pages.ts'
import { PagecacheError } from '../errors.ts'
import { remembering } from '../lib/remembering.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { fieldValue } from './fields.ts'
import { toCanonicalUrl } from './purge-urls.ts'
import type { ClassifyOptions } from './lookup.ts'

/**
 * What a successful unsafe request invalidates: nothing, its own URL, or also the URLs in Location and Content-Location
 * (RFC 9111 §4.4).
 */
const unsafeModes = ['off', 'uri', 'rfc'] as const
export type UnsafeMode = (typeof unsafeModes)[number]

/** Counters since start. */
export interface UnsafeCounts {
  /** Pages invalidated. */
  pages: number
  /** Successful transactions, each for all requests waiting at that time. */
  writes: number
  /** Failed transactions; the responses were passed on nevertheless. */
  failures: number
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'REPORT', 'QUERY'])

/**
 * The minimum pause between two transactions: in milliseconds, and as a multiple of the last one's duration. It keeps
 * visitors served from the cache fast, however many unsafe requests come and however slow the disk is.
 */
const shortestGap = 20
const gapFactor = 4
/** The longest pause, in milliseconds: visitors wait for it. */
const longestGap = 1_000
/** The longest pause with several machines, in milliseconds: a transaction mostly waits for them, which delays no hit. */
const longestGapOfNodes = 100
/** How long a transaction that waits for other machines may delay the next one, in milliseconds. It may itself wait for three seconds. */
const longestTurn = 1_000

export interface UnsafeOptions {
  mode: UnsafeMode
  store: PageStore
  /** The pages of other nodes; null for a single node. */
  shared: Pick<SharedPages, 'forget'> | null
  classifying: ClassifyOptions
  /** Whether other nodes may have pages that this one does not have. If so, the store also removes them. */
  hasOtherNodes: boolean
  /** How many processes of this daemon serve visitors. The pages that others fetch, or have not stored yet, are unknown here. */
  processes: number
  /** Whether a page of this URL is being fetched and may be stored soon. */
  isUnderWay(url: string): boolean
  onError(message: string, error: unknown): void
}

/**
 * Invalidates the pages that unsafe requests have changed, before their visitors are answered, in few transactions with pauses between
 * them, so that hits are not delayed (docs/decisions/0052-invalidation-by-visitors.md).
 */
export class UnsafeInvalidation {
  readonly counts: UnsafeCounts = { pages: 0, writes: 0, failures: 0 }
  readonly #options: UnsafeOptions
  #waiting = new Set<string>()
  #next: Promise<void> | null = null
  #last: Promise<void> = Promise.resolve()

  constructor(options: UnsafeOptions) {
    this.#options = options
  }

  /**
   * Resolves once everything that the response invalidates is removed. Writes nothing when none of it can be cached, unless other processes
   * may know better. Never throws a storage error. Null when the response invalidates nothing that could be cached.
   */
  after(
    method: string,
    url: string,
    response: { status: number; headers: readonly HeaderPair[] },
  ): Promise<void> | null {
    const { mode } = this.#options
    if (mode === 'off' || safeMethods.has(method) || response.status < 200 || response.status >= 400) return null
    const urls = [url, ...(mode === 'rfc' ? this.#named(url, response.headers) : [])].filter(this.#mayBeCached)
    if (urls.length === 0) return null
    const { shared } = this.#options
    return shared === null ? this.#remove(urls) : this.#removeFromAll(urls, shared)
  }

  /** Deletes the shared pages before the local ones made from them, and deletes those that fetches in progress have written meanwhile. */
  async #removeFromAll(urls: readonly string[], shared: Pick<SharedPages, 'forget'>): Promise<void> {
    await shared.forget(urls)
    await this.#remove(urls)
    await shared.forget(urls)
  }

  async #remove(urls: readonly string[]): Promise<void> {
    const { store, isUnderWay, hasOtherNodes, processes } = this.#options
    const isAlone = !hasOtherNodes && processes === 1
    if (isAlone && !urls.some(isUnderWay) && (await store.count({ kind: 'urls', urls })) === 0) return
    for (const each of urls) this.#waiting.add(each)
    await (this.#next ??= this.#drop())
  }

  /** The URLs on the same origin in Location and Content-Location. */
  #named(url: string, headers: readonly HeaderPair[]): string[] {
    const references = ['location', 'content-location'].map((name) => fieldValue(headers, name))
    return references.flatMap((reference) => {
      if (reference === null || !URL.canParse(reference, url)) return []
      const { href, origin } = new URL(reference, url)
      const named = origin === new URL(url).origin ? toCanonicalUrl(href, this.#options.classifying) : null
      return named?.known === true ? [named.url] : []
    })
  }

  /** Remembered, because most unsafe requests go to a few URLs, such as that of the basket. */
  readonly #mayBeCached = remembering((url) => {
    const { channels, bypassPath } = this.#options.classifying
    const place = channels.locate(url)
    return place !== null && !bypassPath(new URL(url).pathname.slice(place.channel.path.length) || '/')
  })

  /** Removes all waiting URLs in one transaction, after the previous one and its pause. */
  async #drop(): Promise<void> {
    await this.#last
    const urls = [...this.#waiting]
    this.#waiting = new Set()
    this.#next = null
    const removed = this.#removeNow(urls)
    // Requests that arrive during the transaction must wait for it, otherwise each would begin its own.
    this.#last = this.#turnOf(removed)
    await removed
  }

  async #removeNow(urls: readonly string[]): Promise<void> {
    try {
      this.counts.pages += await this.#options.store.remove({ kind: 'urls', urls })
      this.counts.writes += 1
    } catch (error) {
      // The shop has processed the request: an error would make the visitor repeat it.
      if (!(error instanceof PagecacheError)) throw error
      this.counts.failures += 1
      this.#options.onError('could not invalidate the pages changed by an unsafe request', error)
    }
  }

  /** Resolves when the next transaction may begin. */
  async #turnOf(removed: Promise<void>): Promise<void> {
    const { hasOtherNodes } = this.#options
    const started = performance.now()
    const isOver = removed.catch(() => {})
    await (hasOtherNodes ? Promise.race([isOver, pause(longestTurn, undefined, { ref: false })]) : isOver)
    const gap = Math.max(shortestGap, gapFactor * (performance.now() - started))
    await pause(Math.min(gap, hasOtherNodes ? longestGapOfNodes : longestGap), undefined, { ref: false })
  }
}
