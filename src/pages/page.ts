/** The five types of a page (spec 1, section 1) and their singular names in `byTypeDetailed`. */
export const pageTypes = ['products', 'categories', 'cms', 'listings', 'buybox'] as const
export type PageType = (typeof pageTypes)[number]
export const singular = {
  products: 'product',
  categories: 'category',
  cms: 'cms',
  listings: 'listing',
  buybox: 'buybox',
} as const satisfies Record<PageType, string>

/** What a stored body is encoded in. A `Content-Encoding` that we do not know stays in the headers and counts as identity. */
export type Encoding = 'identity' | 'gzip' | 'br' | 'zstd'

export type HeaderPair = readonly [name: string, value: string]

/** What the store is given: one storefront response, without its body. Times are milliseconds since the epoch, spans are seconds. */
export interface PageDraft {
  /** The primary cache key: channel, canonical URL, variant cookies and headers (docs/caching.md). */
  key: string
  /** The canonical absolute URL; all variants of a page share it. */
  url: string
  channelId: string
  type: PageType
  tags: readonly string[]
  status: number
  /** As they go to a visitor, without Age, Cache-Status and what never leaves us. */
  headers: readonly HeaderPair[]
  /** Secondary key (RFC 9111 §4.1): lower-case name → normalised request value, null where the request had none. */
  vary: Readonly<Record<string, string | null>>
  /** Client states (`sw-invalidation-states`) that must not be served this page. */
  states: readonly string[]
  /** When the response was received; `initialAge` is its corrected age at that moment (RFC 9111 §4.2.3). */
  cachedAt: number
  initialAge: number
  /** Freshness lifetime (RFC 9111 §4.2.1). */
  lifetime: number
  staleWhileRevalidate: number
  staleIfError: number
  /** Whether a stale page may be served while the origin cannot be reached (RFC 9111 §4.2.4). */
  staleAllowed: boolean
  /** `no-cache`: never served without validation. */
  noCache: boolean
  staleAt: number
  /** Past this moment the page is of no use at all. */
  deleteAt: number
  /** Which bytes of how many, where this is a stored 206 (RFC 9111 §3.3); else null. */
  range: { start: number; end: number; total: number } | null
  encoding: Encoding
  /** Bytes of the body in identity coding. */
  originalSize: number
  /** How long the origin took from request to the last byte, in milliseconds. */
  generationMs: number
}

/** A page as the store holds it. */
export interface Page extends PageDraft {
  id: number
  /** Bytes of the body as stored. */
  size: number
  hits: number
  /** Sum of the times that hits took, in milliseconds. */
  hitMs: number
  usedAt: number
}
