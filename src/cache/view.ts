import { remembering } from '../lib/remembering.ts'
import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import { bestEncodings } from './accept-encoding.ts'
import { formatCacheStatus, type CacheStatus } from './cache-status.ts'
import { rangeStillHolds, weaken } from './conditional.ts'
import { FieldNames, fieldValue, listElements } from './fields.ts'
import { sentAge } from './freshness.ts'
import { parseRange } from './range.ts'
import type { Lookup } from './lookup.ts'
import { selects } from './vary.ts'

/** A page with those codings of its body that are in memory (possibly none). */
export interface HeldPage extends MemoryEntry {
  /** The stored page that has its body, when that is another one. */
  readonly source?: Page
}

export function toHeldPage(page: Page, bodies: HeldPage['bodies'], source?: Page): HeldPage {
  const unused = { hits: null, usedAt: page.usedAt, takesBrotli: false }
  return { page, bodies, ...unused, ...(source !== undefined && { source }) }
}

/** The stored page that has its body; null when it was not stored. */
export function storedAs({ page, source }: HeldPage): Page | null {
  return source ?? (page.id === 0 ? null : page)
}

/** The coding to send to a client: the stored one where the client accepts it, to avoid transcoding. */
export function encodingFor(page: Page, acceptEncoding: string | null): Encoding {
  if (page.encoding === 'identity') return 'identity'
  const best = bestEncodings(acceptEncoding)
  return best.includes(page.encoding) ? page.encoding : best[0]!
}

/**
 * The headers of a page in one coding, with the current Age and Cache-Status. `size`: bytes of the body, null when
 * unknown before it is encoded. `live`: the fields just received, for the visitor who caused the fetch.
 */
export function viewHeaders(
  page: Page,
  encoding: Encoding,
  size: number | null,
  now: number,
  cacheStatus: CacheStatus,
  live?: readonly HeaderPair[],
): HeaderPair[] {
  const headers: HeaderPair[] = []
  for (const pair of live ?? page.headers)
    headers.push(encoding !== 'identity' && etag.cover(pair[0]) ? [pair[0], weaken(pair[1])] : pair)
  if (page.encoding !== 'identity' && !variesByCoding(fieldValue(headers, 'vary') ?? ''))
    headers.push(['Vary', 'Accept-Encoding'])
  if (encoding !== 'identity') headers.push(['Content-Encoding', encoding])
  if (size !== null) headers.push(['Content-Length', String(size)])
  const age = sentAge(page, now)
  if (live === undefined || age > 0) headers.push(['Age', String(age)])
  headers.push(['Cache-Status', formatCacheStatus(cacheStatus)])
  return headers
}

const etag = new FieldNames(['etag'])
const variesByCoding = remembering((vary) => listElements(vary).includes('accept-encoding'))

/** Whether a page is whole, or a part that contains the requested range and meets `If-Range` (RFC 9110 §13.1.5). */
function coversRange(page: Page, lookup: Lookup, now: number): boolean {
  if (page.range === null) return true
  const wanted = lookup.visit.method === 'GET' ? parseRange(lookup.field('range'), page.range.total) : null
  if (wanted === null || wanted === 'unsatisfiable') return false
  const { start, end } = page.range
  return wanted.start >= start && wanted.end <= end && rangeStillHolds(lookup.field('if-range'), page.headers, now)
}

/** Whether a page that was fetched for another visitor answers a lookup. */
export function answers(page: Page, lookup: Lookup, now: number): boolean {
  return (
    selects(page, lookup) &&
    !page.states.some((state) => lookup.states.includes(state)) &&
    coversRange(page, lookup, now)
  )
}

/** The latest of the pages that match a lookup; null when none does. */
export function newest<T>(
  candidates: readonly T[],
  lookup: Lookup,
  now: number,
  pageOf: (candidate: T) => Page,
): T | null {
  let best: T | null = null
  for (const candidate of candidates) {
    const page = pageOf(candidate)
    if (!selects(page, lookup) || !coversRange(page, lookup, now)) continue
    if (best === null || page.cachedAt > pageOf(best).cachedAt) best = candidate
  }
  return best
}
