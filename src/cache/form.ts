import type { Page } from '../pages/page.ts'
import { isNotModified, rangeStillHolds } from './conditional.ts'
import { parseRange, type ByteRange } from './range.ts'

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

/** What a stored page answers to a request: all of it, its head, one range of its identity body, 304 or 416. */
export type Form = { kind: 'whole' | 'head' | 'not-modified' | 'unsatisfiable' } | { kind: 'range'; range: ByteRange }

const whole: Form = { kind: 'whole' }
const head: Form = { kind: 'head' }
const notModified: Form = { kind: 'not-modified' }
const unsatisfiable: Form = { kind: 'unsatisfiable' }

/**
 * Chooses the form of a response from a page; from a stored part of one, only between 304 and the whole part.
 * Conditions come before the range, and `If-None-Match` before `If-Modified-Since` (RFC 9110 §13.2.2). Both apply to
 * GET and HEAD, a range to GET only.
 */
export function formOf(page: Page, request: Presentation, now: number): Form {
  const isHead = request.method === 'HEAD'
  if (page.status === 200 || page.range !== null) {
    if (isNotModified(request, page.headers, now)) return notModified
    const wanted = isHead || page.range !== null ? null : request.range
    if (wanted !== null && rangeStillHolds(request.ifRange, page.headers, now)) {
      const range = parseRange(wanted, page.originalSize)
      if (range !== null) return range === 'unsatisfiable' ? unsatisfiable : { kind: 'range', range }
    }
  }
  return isHead ? head : whole
}
