import type { MemoryEntry } from '../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import { bestEncodings } from './accept-encoding.ts'
import type { Bodies, PageBody } from './bodies.ts'
import { cacheStatus, type Outcome } from './cache-status.ts'
import { isNotModified, rangeStillHolds, weaken } from './conditional.ts'
import { fieldValue, listElements, withoutFields } from './fields.ts'
import { ageAt } from './freshness.ts'
import { parseRange, type ByteRange } from './range.ts'
import type { Answer } from './visit.ts'

/** A page with those codings of its body that are in memory, none perhaps, in the memory tier or not. */
export interface Held extends MemoryEntry {
  /** The page in the store whose body it has, where that is not itself. */
  readonly source?: Page
}

export function toHeld(page: Page, bodies: Held['bodies'], source?: Page): Held {
  return { page, bodies, hits: 0, hitMs: 0, usedAt: page.usedAt, ...(source !== undefined && { source }) }
}

/** The page in the store whose body it has; null where it was not stored. */
export function storedAs({ page, source }: Held): Page | null {
  return source ?? (page.id === 0 ? null : page)
}

/** The coding in which a client gets a page: as it is stored where the client takes that, so that nothing is transcoded. */
export function encodingFor(page: Page, acceptEncoding: string | null): Encoding {
  if (page.encoding === 'identity') return 'identity'
  const best = bestEncodings(acceptEncoding)
  return best.includes(page.encoding) ? page.encoding : best[0]!
}

/** What of a request decides how a page is presented. */
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

/** Fields of a page in one coding, with Age and Cache-Status of this moment. `size`: of the body, null where it shows when it is made. `live`: the fields that came just now, for the visitor who caused the fetch. */
export function viewHeaders(
  page: Page,
  encoding: Encoding,
  size: number | null,
  now: number,
  outcome: Outcome,
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
  headers.push(['Cache-Status', cacheStatus(outcome)])
  return headers
}

/** Statuses whose answers have no body. */
const bodiless = new Set([204, 205, 304])

/**
 * The answer to a request from a page: whole, a range of it, 304 or 416 (RFC 9110 §13, §14). The body is only looked at where it is sent.
 * Null where it is no longer there.
 */
export async function answerFrom(
  held: Held,
  asked: Presentation,
  now: number,
  outcome: Outcome,
  bodies: Bodies,
  live?: readonly HeaderPair[],
): Promise<Answer | null> {
  const { page } = held
  if (page.status === 200 && isNotModified(asked, page.headers, now))
    return notModified(page, asked, now, outcome, live)
  if (page.range !== null && live === undefined) return fromPartial(held, asked, now, outcome, bodies)
  if (
    asked.method === 'GET' &&
    page.status === 200 &&
    asked.range !== null &&
    rangeStillHolds(asked.ifRange, page.headers, now)
  ) {
    const range = parseRange(asked.range, page.originalSize)
    if (range === 'unsatisfiable') return unsatisfiable(page.originalSize, outcome)
    const body = range === null ? 'whole' : await bodies.cut(held, range)
    if (body === null) return null
    if (body !== 'whole') return partial(page, body, range!, page.originalSize, now, outcome)
  }
  const encoding = encodingFor(page, asked.acceptEncoding)
  const withoutBody = bodiless.has(page.status)
  const body = withoutBody || asked.method === 'HEAD' ? null : await bodies.open(held, encoding)
  if (body === null && !withoutBody && asked.method !== 'HEAD') return null
  const size = Buffer.isBuffer(body) ? body.length : sizeIn(held, encoding)
  const headers = viewHeaders(page, encoding, withoutBody ? null : size, now, outcome, live)
  return { status: page.status, headers, body, tags: page.tags }
}

/** Bytes of the body in a coding; null where they are not known before it is made. */
function sizeIn({ page, bodies }: Held, encoding: Encoding): number | null {
  if (encoding === page.encoding) return page.size
  return encoding === 'identity' ? page.originalSize : (bodies[encoding]?.length ?? null)
}

function notModified(
  page: Page,
  asked: Presentation,
  now: number,
  outcome: Outcome,
  live?: readonly HeaderPair[],
): Answer {
  const encoding = encodingFor(page, asked.acceptEncoding)
  const headers = viewHeaders(page, encoding, 0, now, outcome, live)
  return {
    status: 304,
    headers: withoutFields(headers, new Set(['content-length', 'content-encoding', 'content-type'])),
    body: null,
    tags: page.tags,
  }
}

function unsatisfiable(size: number, outcome: Outcome): Answer {
  return {
    status: 416,
    headers: [
      ['Content-Range', `bytes */${size}`],
      ['Content-Length', '0'],
      ['Cache-Status', cacheStatus(outcome)],
    ],
    body: null,
  }
}

function partial(page: Page, body: PageBody, range: ByteRange, total: number, now: number, outcome: Outcome): Answer {
  const headers = viewHeaders(page, 'identity', range.end - range.start + 1, now, outcome).filter(
    ([name]) => name.toLowerCase() !== 'content-range',
  )
  return { status: 206, headers: [...headers, ['Content-Range', `bytes ${range.start}-${range.end}/${total}`]], body }
}

/** A range out of a stored part of a page; `coversRange` has found that it lies within. */
async function fromPartial(
  held: Held,
  asked: Presentation,
  now: number,
  outcome: Outcome,
  bodies: Bodies,
): Promise<Answer | null> {
  const stored = held.page.range!
  const range = parseRange(asked.range, stored.total)
  if (range === null || range === 'unsatisfiable') return unsatisfiable(stored.total, outcome)
  const body = await bodies.cut(held, { start: range.start - stored.start, end: range.end - stored.start })
  return body === null || body === 'whole' ? null : partial(held.page, body, range, stored.total, now, outcome)
}

/** Whether a stored part of a page answers a request for a range. */
export function coversRange(page: Page, range: string | null): boolean {
  if (page.range === null) return true
  const wanted = range === null ? null : parseRange(range, page.range.total)
  return (
    wanted !== null && wanted !== 'unsatisfiable' && wanted.start >= page.range.start && wanted.end <= page.range.end
  )
}
