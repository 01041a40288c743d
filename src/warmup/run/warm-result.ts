/** What became of one request for one page. Times in milliseconds. */
export type WarmResult =
  /** Found fresh in the cache: nothing was fetched. */
  | { kind: 'fresh' }
  | { kind: 'stored'; status: number; ms: number }
  /** The cache may not or could not keep the answer; `reason` says why, in words. `status` is null where the shop was not even asked; `passing`: it was the store's or an invalidation's doing, and another attempt may fare better. */
  | { kind: 'not-stored'; status: number | null; ms: number; reason: string; passing?: boolean }
  /** No usable answer; `status` is null where none came, `retryAfter` (milliseconds from now) where the shop named a time. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter: number | null; ms: number }

interface FetchPageOptions {
  /** Request fields of the variant, with its cookies in `cookie`; none for an anonymous visitor. */
  headers: Readonly<Record<string, string>>
  /** Fetch it even when the cache holds it fresh. */
  force: boolean
  signal: AbortSignal
}

/** Brings one page into the cache by the way that a visitor's miss takes. `url` is absolute and canonical. */
export type FetchPage = (url: string, options: FetchPageOptions) => Promise<WarmResult>
