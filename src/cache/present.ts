import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import type { Bodies, PageBody } from './bodies.ts'
import { formatCacheStatus, type CacheStatus } from './cache-status.ts'
import { isNotModified, rangeStillHolds } from './conditional.ts'
import { withoutFields } from './fields.ts'
import { parseRange, type ByteRange } from './range.ts'
import { encodingFor, viewHeaders, type HeldPage } from './view.ts'
import type { Answer } from './visit.ts'

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
  cacheStatus: CacheStatus,
  bodies: Bodies,
  live?: readonly HeaderPair[],
): Promise<Answer | null> {
  const { page } = held
  if (page.status === 200 && isNotModified(presentation, page.headers, now))
    return notModified(page, presentation, now, cacheStatus, live)
  if (page.range !== null && live === undefined) return fromPartial(held, presentation, now, cacheStatus, bodies)
  if (
    presentation.method === 'GET' &&
    page.status === 200 &&
    presentation.range !== null &&
    rangeStillHolds(presentation.ifRange, page.headers, now)
  ) {
    const range = parseRange(presentation.range, page.originalSize)
    if (range === 'unsatisfiable') return unsatisfiable(page.originalSize, cacheStatus)
    const body = range === null ? 'whole' : await bodies.cut(held, range)
    if (body === null) return null
    if (body !== 'whole') return partial(page, body, range!, page.originalSize, now, cacheStatus)
  }
  const encoding = encodingFor(page, presentation.acceptEncoding)
  const withoutBody = bodiless.has(page.status)
  const body = withoutBody || presentation.method === 'HEAD' ? null : await bodies.open(held, encoding)
  if (body === null && !withoutBody && presentation.method !== 'HEAD') return null
  const size = Buffer.isBuffer(body) ? body.length : sizeIn(held, encoding)
  const headers = viewHeaders(page, encoding, withoutBody ? null : size, now, cacheStatus, live)
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
  cacheStatus: CacheStatus,
  live?: readonly HeaderPair[],
): Answer {
  const encoding = encodingFor(page, presentation.acceptEncoding)
  const headers = viewHeaders(page, encoding, 0, now, cacheStatus, live)
  return {
    status: 304,
    headers: withoutFields(headers, new Set(['content-length', 'content-encoding', 'content-type'])),
    body: null,
    tags: page.tags,
  }
}

function unsatisfiable(size: number, cacheStatus: CacheStatus): Answer {
  return {
    status: 416,
    headers: [
      ['Content-Range', `bytes */${size}`],
      ['Content-Length', '0'],
      ['Cache-Status', formatCacheStatus(cacheStatus)],
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
  cacheStatus: CacheStatus,
): Answer {
  const headers = viewHeaders(page, 'identity', range.end - range.start + 1, now, cacheStatus).filter(
    ([name]) => name.toLowerCase() !== 'content-range',
  )
  return { status: 206, headers: [...headers, ['Content-Range', `bytes ${range.start}-${range.end}/${total}`]], body }
}

/** A range within a stored part of a page, after `coversRange` has checked that it contains the range. */
async function fromPartial(
  held: HeldPage,
  presentation: Presentation,
  now: number,
  cacheStatus: CacheStatus,
  bodies: Bodies,
): Promise<Answer | null> {
  const stored = held.page.range!
  const range = parseRange(presentation.range, stored.total)
  if (range === null || range === 'unsatisfiable') return unsatisfiable(stored.total, cacheStatus)
  const body = await bodies.cut(held, { start: range.start - stored.start, end: range.end - stored.start })
  return body === null || body === 'whole' ? null : partial(held.page, body, range, stored.total, now, cacheStatus)
}
