import { formatHttpDate } from '../lib/http-date.ts'
import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import type { Bodies, PageBody } from './bodies.ts'
import { formatCacheStatus, type CacheStatus } from './cache-status.ts'
import type { Fetched } from './fetched.ts'
import { FieldNames, withoutFields } from './fields.ts'
import { formOf, type Presentation } from './form.ts'
import { parseRange, type ByteRange } from './range.ts'
import { setCookieFields } from './set-cookie.ts'
import { encodingFor, viewHeaders, type HeldPage } from './view.ts'
import type { CacheAnswer } from './visit.ts'

/** Statuses whose responses have no body. */
export const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

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
): Promise<CacheAnswer | null> {
  const { page } = held
  const form = formOf(page, presentation, now)
  const encoding = encodingFor(page, presentation.acceptEncoding)
  if (form.kind === 'unsatisfiable') return unsatisfiable(page.originalSize, now, cacheStatus, live)
  if (form.kind === 'not-modified')
    return {
      status: 304,
      headers: notModifiedHeaders(page, encoding, now, cacheStatus, live),
      body: null,
      tags: page.tags,
    }
  if (page.range !== null && live === undefined) return fromPartial(held, presentation, now, cacheStatus, bodies)
  if (form.kind === 'range') {
    const body = await bodies.cut(held, form.range)
    if (body === null) return null
    if (body !== 'whole') return partial(page, body, form.range, page.originalSize, now, cacheStatus, live)
  }
  if (bodiless.has(page.status)) return withoutBody(page, now, cacheStatus, live)
  const body = form.kind === 'head' ? null : await bodies.open(held, encoding)
  if (body === null && form.kind !== 'head') return null
  const size = Buffer.isBuffer(body) ? body.length : sizeIn(held, encoding)
  const headers = viewHeaders(page, encoding, size, now, cacheStatus, live)
  return { status: page.status, headers, body, tags: page.tags }
}

/** A response whose status allows no body. That of a 205 has a length all the same (RFC 9110 §15.3.6). */
function withoutBody(
  page: Page,
  now: number,
  cacheStatus: CacheStatus,
  live?: readonly HeaderPair[],
): CacheAnswer & { body: null } {
  const size = page.status === 205 ? 0 : null
  const headers = viewHeaders(page, 'identity', size, now, cacheStatus, live)
  return { status: page.status, headers, body: null, tags: page.tags }
}

/** The response to the visitor whose fetch is streamed. */
export function streamedAnswer(fetched: Extract<Fetched, { kind: 'stream' }>, cacheStatus: CacheStatus): CacheAnswer {
  const { status, headers, body, tags } = fetched
  return { status, headers: [...headers, ['Cache-Status', formatCacheStatus(cacheStatus)]], body, tags }
}

/** Size of the body in a coding, in bytes; null when unknown before it is encoded. */
export function sizeIn({ page, bodies }: MemoryEntry, encoding: Encoding): number | null {
  if (encoding === page.encoding) return page.size
  return encoding === 'identity' ? page.originalSize : (bodies[encoding]?.length ?? null)
}

const bodyFields = new FieldNames(['content-length', 'content-encoding', 'content-range', 'content-type'])

/** The headers of a 304: those of the page that do not describe a body (RFC 9110 §15.4.5). */
export function notModifiedHeaders(
  page: Page,
  encoding: Encoding,
  now: number,
  cacheStatus: CacheStatus,
  live?: readonly HeaderPair[],
): HeaderPair[] {
  return withoutFields(viewHeaders(page, encoding, null, now, cacheStatus, live), bodyFields)
}

/** A 416 for a body of `size` bytes. `live`: the fields just received, for the visitor who caused the fetch. */
export function unsatisfiable(
  size: number,
  now: number,
  cacheStatus: CacheStatus,
  live: readonly HeaderPair[] = [],
): CacheAnswer & { body: null } {
  return {
    status: 416,
    headers: [
      ['Date', formatHttpDate(now)],
      ['Content-Range', `bytes */${size}`],
      ['Content-Length', '0'],
      ...setCookieFields(live),
      ['Cache-Status', formatCacheStatus(cacheStatus)],
    ],
    body: null,
  }
}

/**
 * A 206 with one range of a body of `total` bytes in identity coding. `live`: the fields just received, for the visitor
 * who caused the fetch.
 */
export function partial<Body extends PageBody>(
  page: Page,
  body: Body,
  range: ByteRange,
  total: number,
  now: number,
  cacheStatus: CacheStatus,
  live?: readonly HeaderPair[],
): CacheAnswer & { body: Body } {
  const headers = viewHeaders(page, 'identity', range.end - range.start + 1, now, cacheStatus, live).filter(
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
): Promise<CacheAnswer | null> {
  const stored = held.page.range!
  const range = parseRange(presentation.range, stored.total)
  if (range === null || range === 'unsatisfiable') return unsatisfiable(stored.total, now, cacheStatus)
  const body = await bodies.cut(held, { start: range.start - stored.start, end: range.end - stored.start })
  return body === null || body === 'whole' ? null : partial(held.page, body, range, stored.total, now, cacheStatus)
}
