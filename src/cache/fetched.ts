import type { Readable } from 'node:stream'
import type { HeaderPair, Page, PageDraft } from '../pages/page.ts'
import type { Rejection } from '../pages/page-store.ts'
import { discard } from './body.ts'
import { weaken } from './conditional.ts'
import { endToEnd, FieldNames, fieldValue, hasField } from './fields.ts'
import { tagsOf, visibleHeaders, type Sent } from './forward.ts'
import { serverErrors, type Received } from './freshness.ts'
import type { Lookup } from './lookup.ts'
import { otherSearch } from './no-vary-search.ts'
import { OriginError, type OriginReply, type OriginResponse } from './origin.ts'
import { reflectedField } from './reflection.ts'
import { withoutSetCookie } from './set-cookie.ts'
import type { HeldPage } from './view.ts'

/** The result of a request to the origin. */
export type Fetched =
  /**
   * HeldPage in memory as a whole. `notStored` is the reason why it was not stored, null when it was. `shareable`: whether
   * visitors who wait for the same fetch may have it, stored or not. `live`: the fields for the visitor who caused the
   * fetch. `isShared`: another node has fetched it.
   */
  | {
      kind: 'held'
      held: HeldPage
      status: number
      notStored: string | null
      shareable: boolean
      live: HeaderPair[]
      isShared?: true
    }
  /** Streamed to the visitor who caused the fetch. */
  | {
      kind: 'stream'
      status: number
      headers: HeaderPair[]
      tags: readonly string[]
      body: Readable
      notStored: string
    }

export const emptyBody = Buffer.alloc(0)

/** What the visitor of an asset gets: no cookie of the session that the shop may have begun for a request without cookies. */
export function withoutCookies(fetched: Fetched): Fetched {
  return fetched.kind === 'stream'
    ? { ...fetched, headers: withoutSetCookie(fetched.headers) }
    : { ...fetched, live: withoutSetCookie(fetched.live) }
}

/** The reason of a page that a purge selected during its fetch. */
export const invalidated = 'invalidated while it was fetched'

/** Why the store rejected a page that may be stored. */
export const rejections: Readonly<Record<Rejection, string>> = {
  invalidated,
  unavailable: 'the store has no room or is busy',
  behind: 'too many pages wait to be stored',
  removed: 'the stored page was removed while it was validated',
}

/** The reason of a HEAD response that is not about the page that we hold. */
export const otherHead = 'a HEAD response without a matching validator'

/** Whether a later fetch of the same page may be stored. */
export function mayStoreLater(notStored: string): boolean {
  return notStored === otherSearch || notStored === otherHead || Object.values(rejections).includes(notStored)
}

/** Why a body was not read completely. */
export const overflow = {
  contradicts: 'the range has a different length than its Content-Range',
  limit: 'larger than cache.maxPageSize',
  unannounced: 'larger than 1 MiB without Content-Length',
  budget: 'too many large pages are being fetched',
}

export function passedOn(response: OriginResponse, notStored: string): Fetched {
  return {
    kind: 'stream',
    status: response.status,
    headers: visibleHeaders(response),
    tags: tagsOf(response.headers),
    body: response.body,
    notStored,
  }
}

/** Discards a response and requests another one. */
export function instead(body: Readable, fetch: () => Promise<Fetched>): Promise<Fetched> {
  discard(body)
  return fetch()
}

export function reflectionReason(
  { lookup, sent, addresses }: Sent & { lookup: Lookup },
  response: Received,
  body: Buffer,
): string | null {
  // Fields of the connection are no part of the page and cannot reflect a visitor's request.
  const reflected = reflectedField(lookup, { sent, addresses }, endToEnd(response.headers), body)
  return reflected === null ? null : `the response reflects the request's ${reflected}`
}

const etag = new FieldNames(['etag'])

/** A response with a weak entity tag (RFC 9110 §8.8.1). */
export function withWeakTag(response: Received): Received {
  const headers = response.headers.map((pair): HeaderPair => (etag.cover(pair[0]) ? [pair[0], weaken(pair[1])] : pair))
  return { ...response, headers }
}

/** A page that is served but not stored. */
export function unstored(draft: PageDraft, size: number): Page {
  return { ...draft, id: 0, size, hits: 0, hitMs: 0, usedAt: draft.cachedAt }
}

/** Why an error that may be stored is not. `outlasts`: see `FetchTerms`. */
export function errorReason({ status }: Pick<OriginResponse, 'status'>, outlasts: boolean): string | null {
  return outlasts && serverErrors.has(status) ? 'an error, and a stale page may be served instead' : null
}

/** @throws OriginError for a 304 to a request without a condition */
export function assertWanted({ status, body }: OriginResponse): void {
  if (status !== 304) return
  discard(body)
  throw new OriginError('the origin answered 304 to an unconditional request', 'broken', null)
}

export function partialReason(
  { status, headers }: Pick<OriginResponse, 'status' | 'headers'>,
  range: PageDraft['range'],
): string | null {
  if (status !== 206) return null
  if (range === null) return 'several ranges, or no valid Content-Range'
  return hasField(headers, 'content-encoding') ? 'a range of an encoded body' : null
}

/** Why a body that was read completely may not be stored. */
export function overlongReason(response: Pick<OriginReply<unknown>, 'overlong'>): string | null {
  return response.overlong() ? 'the shop sent more bytes than it announced' : null
}

/** A range that is not cached is requested as a range: the whole body might be a film. */
export function rangeOf(lookup: Lookup): HeaderPair[] {
  const range = lookup.field('range')
  if (range === null || !byteRanges.test(range)) return []
  const condition = lookup.field('if-range')
  if (condition === null) return [['range', range]]
  return plainCondition.test(condition)
    ? [
        ['range', range],
        ['if-range', condition],
      ]
    : []
}

/** The tag that a visitor's range depends on; none where the response has it, and so has made it. */
export function conditionOf(lookup: Lookup, { headers }: Pick<OriginResponse, 'headers'>): HeaderPair[] {
  const tag = fieldValue(headers, 'etag')
  return rangeOf(lookup).filter(([name, value]) => name === 'if-range' && value.startsWith('"') && value !== tag)
}

/**
 * The values that are forwarded. The page may be stored for others, so the shop must not get anything else that it could
 * reflect; without a range it sends the whole page, from which the range is cut.
 */
const byteRanges = /^bytes=(?:\d{0,15}-\d{0,15}(?:, ?|$)){1,8}$/i
const plainCondition = /^(?:"[\w.:+/=~-]{1,128}"|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/
