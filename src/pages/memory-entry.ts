import type { Encoding, Page } from './page.ts'
import type { StoredHits } from './page-store.ts'

/** A page with those codings of its body that are in memory. */
export interface MemoryEntry {
  readonly page: Page
  readonly bodies: Partial<Record<Encoding, Buffer>>
  /** The hits not yet written to the store; null for none. They do not refer to the bodies, which may leave memory before. */
  hits: PageHits | null
  usedAt: number
  /** Whether a visitor who got it accepts brotli: others gain nothing from a thoroughly compressed body. */
  takesBrotli: boolean
  /** Set for a page made of fragments. */
  readonly assembly?: Assembly
  /** What the hot path has prepared. A weak map keeps V8's garbage collector busy. */
  views?: object
}

/** What a page with fragments was made of. */
export interface Assembly {
  /** The stored pages: the template, then its fragments at any depth. */
  readonly parts: readonly Page[]
  /** Number of fragments, and how deep they include each other. */
  readonly count: number
  readonly height: number
  /** Whether an include was left out because of the pages around it. */
  readonly isCut: boolean
  /** Includes that were left out, for operators; null for none. */
  readonly note: string | null
}

/** Hits of one page that are not yet written to the store. */
export interface PageHits extends StoredHits {
  recode: boolean
  /** The fragments of an assembled page. */
  readonly fragments: readonly Page[]
  isTaken: boolean
}
