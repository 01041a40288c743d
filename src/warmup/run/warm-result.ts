/** The result of one request for one page. Times in milliseconds. */
export type WarmResult =
  /** The page is fresh in the cache: nothing was fetched. */
  | { kind: 'fresh' }
  | { kind: 'stored'; status: number; ms: number }
  /**
   * The response could not be cached; `reason` says why. `status` is null if no request was made. `transient`: a purge of the page
   * or the state of the cache prevented it, and another attempt may succeed.
   */
  | { kind: 'not-stored'; status: number | null; ms: number; reason: string; transient?: 'purge' | 'cache' }
  /** No usable response. `status` is null if none arrived; `retryAfter` is in milliseconds from now, null if the shop sent none. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter: number | null; ms: number }

interface FetchPageOptions {
  /** Request headers of the variant, with its cookies in `cookie`; empty for an anonymous visitor. */
  headers: Readonly<Record<string, string>>
  /** Fetch the page even if it is fresh in the cache. */
  force: boolean
  /** Aborts the request. */
  signal: AbortSignal
  /** Aborts the wait for visitors before the request. */
  stop: AbortSignal
  /** Called after that wait, and only if the page has to be fetched: whether it still may be. */
  mayStart(): boolean
}

/**
 * Brings one page into the cache, on the same path as a visitor's miss. `url` is absolute and canonical. Null if the request was not sent,
 * because of `stop` or `mayStart`.
 */
export type FetchPage = (url: string, options: FetchPageOptions) => Promise<WarmResult | null>
