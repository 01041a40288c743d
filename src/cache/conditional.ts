import { parseHttpDate } from '../lib/http-date.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldValue } from './fields.ts'

export interface Preconditions {
  ifNoneMatch: string | null
  ifModifiedSince: string | null
}

/** Whether a stored response answers a conditional request with 304 (RFC 9111 §4.3.2, RFC 9110 §13.2.2). */
export function isNotModified(preconditions: Preconditions, headers: readonly HeaderPair[], now: number): boolean {
  if (preconditions.ifNoneMatch !== null)
    return matchesEntityTag(preconditions.ifNoneMatch, fieldValue(headers, 'etag'))
  if (preconditions.ifModifiedSince === null) return false
  const since = parseHttpDate(preconditions.ifModifiedSince, now)
  const modified = parseHttpDate(fieldValue(headers, 'last-modified') ?? fieldValue(headers, 'date') ?? '', now)
  return since !== null && modified !== null && modified <= since
}

/** Weak comparison against a list of entity tags (RFC 9110 §8.8.3.2); tags whose quotes were forgotten are taken too. */
export function matchesEntityTag(condition: string, etag: string | null): boolean {
  if (condition.trim() === '*') return true
  if (etag === null) return false
  const wanted = opaqueTag(etag)
  return (condition.match(/(?:W\/)?"[^"]*"|[^\s,]+/gi) ?? []).some((tag) => opaqueTag(tag) === wanted)
}

function opaqueTag(tag: string): string {
  return tag
    .trim()
    .replace(/^W\//i, '')
    .replace(/^"(.*)"$/, '$1')
}

export function isStrong(etag: string): boolean {
  return etag.startsWith('"')
}

/** A coded body is another representation: its tag stays comparable, but weak (RFC 9110 §8.8.1). */
export function weaken(etag: string): string {
  return isStrong(etag) ? `W/${etag}` : etag
}

/** If-Range (RFC 9110 §13.1.5): whether the range may be served from this representation. */
export function rangeStillHolds(condition: string | null, headers: readonly HeaderPair[], now: number): boolean {
  if (condition === null) return true
  const etag = fieldValue(headers, 'etag')
  if (/^(W\/)?"/.test(condition)) return etag !== null && isStrong(condition) && condition === etag
  const modified = parseHttpDate(fieldValue(headers, 'last-modified') ?? '', now)
  const date = parseHttpDate(fieldValue(headers, 'date') ?? '', now)
  // What was changed in the second of its answer may have been changed again in it (RFC 9110 §8.8.2.2).
  return modified !== null && date !== null && date - modified >= 1000 && parseHttpDate(condition, now) === modified
}
