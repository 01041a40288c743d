import { setTimeout as pause } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { fieldValue } from './fields.ts'
import { toCanonicalUrl } from './purge-urls.ts'
import type { ClassifyOptions } from './question.ts'

/**
 * What a successful unsafe request drops: nothing, the page of its own URL, or what RFC 9111 §4.4 names besides (Location and
 * Content-Location).
 */
const unsafeModes = ['off', 'uri', 'rfc'] as const
export type UnsafeMode = (typeof unsafeModes)[number]

/** Counted since the proxy was built. */
export interface UnsafeCounts {
  /** Pages dropped. */
  pages: number
  /** Transactions that took, each for all requests that had come by then. */
  writes: number
  /** Transactions that failed; the answers were passed on all the same. */
  failures: number
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'REPORT', 'QUERY'])

/**
 * The shortest time between two transactions, in milliseconds, and as a multiple of how long the last one took: the visitors who are
 * served from the cache get the rest, however many unsafe requests come and however slow the disk is.
 */
const shortestGap = 20
const gapFactor = 4

export interface UnsafeOptions {
  mode: UnsafeMode
  store: PageStore
  classifying: ClassifyOptions
  /** Whether a page of this URL is being fetched, so that it may be stored in a moment. */
  isUnderWay(url: string): boolean
  onFault(message: string, error: unknown): void
}

/** Drops the pages that unsafe requests have changed (docs/decisions/0052-invalidation-by-visitors.md). */
export class UnsafeInvalidation {
  readonly counts: UnsafeCounts = { pages: 0, writes: 0, failures: 0 }
  readonly #options: UnsafeOptions
  #waiting = new Set<string>()
  #next: Promise<void> | null = null
  #last: Promise<void> = Promise.resolve()

  constructor(options: UnsafeOptions) {
    this.#options = options
  }

  /** Resolves when what the answer invalidates is gone. Costs no write where none of it is cached. Never throws a storage error. */
  async after(
    method: string,
    url: string,
    response: { status: number; headers: readonly HeaderPair[] },
  ): Promise<void> {
    const { mode, store, isUnderWay } = this.#options
    if (mode === 'off' || safeMethods.has(method) || response.status < 200 || response.status >= 400) return
    const urls = [url, ...(mode === 'rfc' ? this.#named(url, response.headers) : [])].filter((each) =>
      this.#mayBeCached(each),
    )
    if (urls.length === 0) return
    if (!urls.some(isUnderWay) && (await store.count({ kind: 'urls', urls })) === 0) return
    for (const each of urls) this.#waiting.add(each)
    await (this.#next ??= this.#drop())
  }

  /** What Location and Content-Location name on the same origin. */
  #named(url: string, headers: readonly HeaderPair[]): string[] {
    const references = ['location', 'content-location'].map((name) => fieldValue(headers, name))
    return references.flatMap((reference) => {
      if (reference === null || !URL.canParse(reference, url)) return []
      const { href, origin } = new URL(reference, url)
      const named = origin === new URL(url).origin ? toCanonicalUrl(href, this.#options.classifying) : null
      return named?.known === true ? [named.url] : []
    })
  }

  #mayBeCached(url: string): boolean {
    const { channels, bypassPath } = this.#options.classifying
    const place = channels.locate(url)
    if (place === null) return false
    return !bypassPath(new URL(url).pathname.slice(place.channel.path.length) || '/')
  }

  /** One transaction for all who come until the one before is done and its gap is over. */
  async #drop(): Promise<void> {
    await this.#last
    const urls = [...this.#waiting]
    this.#waiting = new Set()
    this.#next = null
    const started = performance.now()
    try {
      this.counts.pages += await this.#options.store.remove({ kind: 'urls', urls })
      this.counts.writes += 1
    } catch (error) {
      // The shop has done what it was asked for: an error would have the visitor do it again.
      if (!(error instanceof PagecacheError)) throw error
      this.counts.failures += 1
      this.#options.onFault('pages that visitors have changed could not be dropped', error)
    } finally {
      this.#last = pause(Math.max(shortestGap, gapFactor * (performance.now() - started)), undefined, { ref: false })
    }
  }
}
