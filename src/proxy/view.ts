import { decode, encode } from '../pages/codec.ts'
import type { MemoryEntry } from '../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import { bestEncodings } from './accept-encoding.ts'
import { cacheStatus, type Outcome } from './cache-status.ts'
import { isNotModified, rangeStillHolds, weaken } from './conditional.ts'
import { fieldValue, listElements, withoutFields } from './fields.ts'
import { ageAt } from './freshness.ts'
import { parseRange } from './range.ts'
import type { Answer } from './visit.ts'

/** A page with those codings of its body that are at hand, in the memory tier or not. */
export type Held = MemoryEntry

export function toHeld(page: Page, bodies: Held['bodies']): Held {
  return { page, bodies, hits: 0, hitMs: 0, usedAt: page.usedAt }
}

/** The coding in which a client gets a page: as it is stored where the client takes that, so that nothing is transcoded. */
export function encodingFor(page: Page, acceptEncoding: string | null): Encoding {
  if (page.encoding === 'identity') return 'identity'
  const best = bestEncodings(acceptEncoding)
  return best.includes(page.encoding) ? page.encoding : best[0]!
}

/** Gives the body of a page in a coding. */
export type BodySource = (held: Held, encoding: Encoding) => Promise<Buffer>

/** A body in another coding than those at hand. `limit`: bytes that it may grow to. */
export async function transcode(held: Held, encoding: Encoding, limit: number): Promise<Buffer> {
  const { page, bodies } = held
  const identity = bodies.identity ?? (await decode(bodies[page.encoding]!, page.encoding, limit))
  return encoding === 'identity' ? identity : encode(identity, encoding)
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

/** Fields of a page in one coding, with Age and Cache-Status of this moment. `live`: the fields that came just now, for the visitor who caused the fetch. */
export function viewHeaders(page: Page, encoding: Encoding, size: number, now: number, outcome: Outcome, live?: readonly HeaderPair[]): HeaderPair[] {
  const headers: HeaderPair[] = []
  for (const [name, value] of live ?? page.headers) {
    headers.push(encoding !== 'identity' && name.toLowerCase() === 'etag' ? [name, weaken(value)] : [name, value])
  }
  if (page.encoding !== 'identity' && !listElements(fieldValue(headers, 'vary')).includes('accept-encoding')) headers.push(['Vary', 'Accept-Encoding'])
  if (encoding !== 'identity') headers.push(['Content-Encoding', encoding])
  headers.push(['Content-Length', String(size)])
  const age = Math.floor(ageAt(page, now))
  if (live === undefined || age > 0) headers.push(['Age', String(age)])
  headers.push(['Cache-Status', cacheStatus(outcome)])
  return headers
}

/** Statuses whose answers have no body. */
const bodiless = new Set([204, 205, 304])

/**
 * The answer to a request from a page: whole, a range of it, 304 or 416 (RFC 9110 §13, §14).
 */
export async function answerFrom(held: Held, asked: Presentation, now: number, outcome: Outcome, bodyOf: BodySource, live?: readonly HeaderPair[]): Promise<Answer> {
  const { page } = held
  if (page.status === 200 && isNotModified(asked, page.headers, now)) return notModified(page, asked, now, outcome, live)
  if (page.range !== null && live === undefined) return fromPartial(held, asked, now, outcome)
  if (asked.method === 'GET' && page.status === 200 && asked.range !== null && rangeStillHolds(asked.ifRange, page.headers, now)) {
    const body = await bodyOf(held, 'identity')
    const range = parseRange(asked.range, body.length)
    if (range === 'unsatisfiable') return unsatisfiable(body.length, outcome)
    if (range !== null) return partial(page, body.subarray(range.start, range.end + 1), `bytes ${range.start}-${range.end}/${body.length}`, now, outcome)
  }
  const encoding = encodingFor(page, asked.acceptEncoding)
  const body = held.bodies[encoding] ?? (await bodyOf(held, encoding))
  const headers = viewHeaders(page, encoding, body.length, now, outcome, live)
  if (bodiless.has(page.status)) return { status: page.status, headers: withoutFields(headers, new Set(['content-length'])), body: null, tags: page.tags }
  return { status: page.status, headers, body: asked.method === 'HEAD' ? null : body, tags: page.tags }
}

function notModified(page: Page, asked: Presentation, now: number, outcome: Outcome, live?: readonly HeaderPair[]): Answer {
  const encoding = encodingFor(page, asked.acceptEncoding)
  const headers = viewHeaders(page, encoding, 0, now, outcome, live)
  return { status: 304, headers: withoutFields(headers, new Set(['content-length', 'content-encoding', 'content-type'])), body: null, tags: page.tags }
}

function unsatisfiable(size: number, outcome: Outcome): Answer {
  return { status: 416, headers: [['Content-Range', `bytes */${size}`], ['Content-Length', '0'], ['Cache-Status', cacheStatus(outcome)]], body: null }
}

function partial(page: Page, body: Buffer, contentRange: string, now: number, outcome: Outcome): Answer {
  const headers = viewHeaders(page, 'identity', body.length, now, outcome).filter(([name]) => name.toLowerCase() !== 'content-range')
  return { status: 206, headers: [...headers, ['Content-Range', contentRange]], body }
}

/** A range out of a stored part of a page; `coversRange` has found that it lies within. */
function fromPartial(held: Held, asked: Presentation, now: number, outcome: Outcome): Answer {
  const stored = held.page.range!
  const body = held.bodies.identity!
  const range = parseRange(asked.range, stored.total)
  if (range === null || range === 'unsatisfiable') return unsatisfiable(stored.total, outcome)
  // A suffix is counted from the end, which the stored part reaches.
  const suffix = /^bytes=-(\d+)$/.exec(asked.range ?? '')?.[1]
  const slice = suffix === undefined ? body.subarray(range.start - stored.start, range.end - stored.start + 1) : body.subarray(-Number(suffix))
  return partial(held.page, slice, `bytes ${range.start}-${range.end}/${stored.total}`, now, outcome)
}

/** Whether a stored part of a page answers a request for a range. */
export function coversRange(page: Page, range: string | null): boolean {
  if (page.range === null) return true
  const wanted = range === null ? null : parseRange(range, page.range.total)
  return wanted !== null && wanted !== 'unsatisfiable' && wanted.start >= page.range.start && wanted.end <= page.range.end
}
