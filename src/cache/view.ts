import type { MemoryEntry } from '../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import { bestEncodings } from './accept-encoding.ts'
import type { Bodies, PageBody } from './bodies.ts'
import { formatCacheStatus, type CacheStatus } from './cache-status.ts'
import { isNotModified, rangeStillHolds, weaken } from './conditional.ts'
import { fieldValue, listElements, withoutFields } from './fields.ts'
import { ageAt } from './freshness.ts'
import { parseRange, type ByteRange } from './range.ts'
import type { Lookup } from './lookup.ts'
import { selects } from './vary.ts'
import type { Answer } from './visit.ts'

/** A page with those codings of its body that are in memory (possibly none). */
export interface HeldPage extends MemoryEntry {
  /** The stored page that has its body, when that is another one. */
  readonly source?: Page
}

export function toHeldPage(page: Page, bodies: HeldPage['bodies'], source?: Page): HeldPage {
  return { page, bodies, hits: 0, hitMs: 0, usedAt: page.usedAt, ...(source !== undefined && { source }) }
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

/** The parts of a request that decide how a page is presented. */
export interface Presentation {
  method: string
  acceptEncoding: string | null
  ifNoneMatch: string | null
  ifModifiedSince: string | null
  range: string | null
  ifRange: string | null
}

export function presentationOf(method: string, field: (name: string) => string | null): Presentation {
  return {
    method,
    acceptEncoding: field('accept-encoding'),
    ifNoneMatch: field('if-none-match'),
    ifModifiedSince: field('if-modified-since'),
    range: field('range'),
    ifRange: field('if-range'),
  }
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
  outcome: CacheStatus,
  live?: readonly HeaderPair[],
): HeaderPair[] {
  const headers: HeaderPair[] = []
  for (const [name, value] of live ?? page.headers) {
    headers.push(encoding !== 'identity' && name.toLowerCase() === 'etag' ? [name, weaken(value)] : [name, value])
  }
  if (page.encoding !== 'identity' && !listElements(fieldValue(headers, 'vary')).includes('accept-encoding'))
    headers.push(['Vary', 'Accept-Encoding'])
  if (encoding !== 'identity') headers.push(['Content-Encoding', encoding])
  if (size !== null) headers.push(['Content-Length', String(size)])
  const age = Math.floor(ageAt(page, now))
  if (live === undefined || age > 0) headers.push(['Age', String(age)])
  headers.push(['Cache-Status', formatCacheStatus(outcome)])
  return headers
}

/** Statuses whose responses have no body. */
const bodiless = new Set([204, 205, 304])

/**
 * Builds the response to a request from a page: the whole page, a range, 304 or 416 (RFC 9110 §13, §14). Opens the body
 * only when it is sent; null when the body no longer exists.
 */
export async function answerFrom(
  held: HeldPage,
  presentation: Presentation,
  now: number,
  outcome: CacheStatus,
  bodies: Bodies,
  live?: readonly HeaderPair[],
): Promise<Answer | null> {
  const { page } = held
  if (page.status === 200 && isNotModified(presentation, page.headers, now))
    return notModified(page, presentation, now, outcome, live)
  if (page.range !== null && live === undefined) return fromPartial(held, presentation, now, outcome, bodies)
  if (
    presentation.method === 'GET' &&
    page.status === 200 &&
    presentation.range !== null &&
    rangeStillHolds(presentation.ifRange, page.headers, now)
  ) {
    const range = parseRange(presentation.range, page.originalSize)
    if (range === 'unsatisfiable') return unsatisfiable(page.originalSize, outcome)
    const body = range === null ? 'whole' : await bodies.cut(held, range)
    if (body === null) return null
    if (body !== 'whole') return partial(page, body, range!, page.originalSize, now, outcome)
  }
  const encoding = encodingFor(page, presentation.acceptEncoding)
  const withoutBody = bodiless.has(page.status)
  const body = withoutBody || presentation.method === 'HEAD' ? null : await bodies.open(held, encoding)
  if (body === null && !withoutBody && presentation.method !== 'HEAD') return null
  const size = Buffer.isBuffer(body) ? body.length : sizeIn(held, encoding)
  const headers = viewHeaders(page, encoding, withoutBody ? null : size, now, outcome, live)
  return { status: page.status, headers, body, tags: page.tags }
}

/** Size of the body in a coding, in bytes; null when unknown before it is encoded. */
function sizeIn({ page, bodies }: HeldPage, encoding: Encoding): number | null {
  if (encoding === page.encoding) return page.size
  return encoding === 'identity' ? page.originalSize : (bodies[encoding]?.length ?? null)
}

function notModified(
  page: Page,
  presentation: Presentation,
  now: number,
  outcome: CacheStatus,
  live?: readonly HeaderPair[],
): Answer {
  const encoding = encodingFor(page, presentation.acceptEncoding)
  const headers = viewHeaders(page, encoding, 0, now, outcome, live)
  return {
    status: 304,
    headers: withoutFields(headers, new Set(['content-length', 'content-encoding', 'content-type'])),
    body: null,
    tags: page.tags,
  }
}

function unsatisfiable(size: number, outcome: CacheStatus): Answer {
  return {
    status: 416,
    headers: [
      ['Content-Range', `bytes */${size}`],
      ['Content-Length', '0'],
      ['Cache-Status', formatCacheStatus(outcome)],
    ],
    body: null,
  }
}

function partial(
  page: Page,
  body: PageBody,
  range: ByteRange,
  total: number,
  now: number,
  outcome: CacheStatus,
): Answer {
  const headers = viewHeaders(page, 'identity', range.end - range.start + 1, now, outcome).filter(
    ([name]) => name.toLowerCase() !== 'content-range',
  )
  return { status: 206, headers: [...headers, ['Content-Range', `bytes ${range.start}-${range.end}/${total}`]], body }
}

/** A range within a stored part of a page, after `coversRange` has checked that it contains the range. */
async function fromPartial(
  held: HeldPage,
  presentation: Presentation,
  now: number,
  outcome: CacheStatus,
  bodies: Bodies,
): Promise<Answer | null> {
  const stored = held.page.range!
  const range = parseRange(presentation.range, stored.total)
  if (range === null || range === 'unsatisfiable') return unsatisfiable(stored.total, outcome)
  const body = await bodies.cut(held, { start: range.start - stored.start, end: range.end - stored.start })
  return body === null || body === 'whole' ? null : partial(held.page, body, range, stored.total, now, outcome)
}

/** Whether a stored part of a page contains the requested range. */
export function coversRange(page: Page, range: string | null): boolean {
  if (page.range === null) return true
  const wanted = range === null ? null : parseRange(range, page.range.total)
  return (
    wanted !== null && wanted !== 'unsatisfiable' && wanted.start >= page.range.start && wanted.end <= page.range.end
  )
}

/** The latest of the pages that match a lookup; null when none does. */
export function newest<T>(candidates: readonly T[], lookup: Lookup, pageOf: (candidate: T) => Page): T | null {
  const range = lookup.visit.method === 'GET' ? lookup.field('range') : null
  let best: T | null = null
  for (const candidate of candidates) {
    const page = pageOf(candidate)
    if (!selects(page, lookup) || !coversRange(page, range)) continue
    if (best === null || page.cachedAt > pageOf(best).cachedAt) best = candidate
  }
  return best
}
