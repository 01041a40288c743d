/** The five page types and their singular names in `byTypeDetailed`. */
export const pageTypes = ['products', 'categories', 'cms', 'listings', 'buybox'] as const
export type PageType = (typeof pageTypes)[number]
export const singular = {
  products: 'product',
  categories: 'category',
  cms: 'cms',
  listings: 'listing',
  buybox: 'buybox',
} as const satisfies Record<PageType, string>

/** The coding of a stored body. An unsupported `Content-Encoding` stays in the headers and counts as identity. */
export type Encoding = 'identity' | 'gzip' | 'br' | 'zstd'

export type HeaderPair = readonly [name: string, value: string]

/**
 * A storefront response as given to the store, without its body. Times in milliseconds since the epoch, durations in
 * seconds.
 */
export interface PageDraft {
  /**
   * The primary cache key: channel, a space, the canonical URL, then a line for each variant cookie or header
   * (docs/caching.md). A page under a key of another form is not found.
   */
  key: string
  /** The canonical absolute URL; all variants of a page share it. */
  url: string
  channelId: string
  type: PageType
  tags: readonly string[]
  status: number
  /** As sent to visitors, without Age, Cache-Status and internal fields. */
  headers: readonly HeaderPair[]
  /** Secondary key (RFC 9111 §4.1): lower-case name → normalised request value; null when the request had none. */
  vary: Readonly<Record<string, string | null>>
  /** Client states (`sw-invalidation-states`) that must not be served this page. */
  states: readonly string[]
  /** When the response was received; `initialAge` is its corrected age at that time (RFC 9111 §4.2.3). */
  cachedAt: number
  initialAge: number
  /** Freshness lifetime (RFC 9111 §4.2.1). */
  lifetime: number
  staleWhileRevalidate: number
  staleIfError: number
  /** Whether a stale page may be served while the origin is unreachable (RFC 9111 §4.2.4). */
  staleAllowed: boolean
  /** `no-cache`: never served without validation. */
  noCache: boolean
  staleAt: number
  /** When the page becomes useless, even stale. */
  deleteAt: number
  /** The byte range of a stored 206 (RFC 9111 §3.3); else null. */
  range: { start: number; end: number; total: number } | null
  encoding: Encoding
  /** Bytes of the body in identity coding. */
  originalSize: number
  /** Time from the request to the last byte of the origin's response, in milliseconds. */
  generationMs: number
  /**
   * URLs of the fragments that its ESI markup includes. Absent for a page without such markup: any other one is a
   * template and must not be sent as it is.
   */
  fragments?: readonly string[]
}

/** A page in the store. */
export interface Page extends PageDraft {
  id: number
  /** Bytes of the body as stored. */
  size: number
  hits: number
  /** Sum of the hit times, in milliseconds. */
  hitMs: number
  usedAt: number
}
