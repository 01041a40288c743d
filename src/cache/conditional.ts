import { parseHttpDate } from '../lib/http-date.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldValue, trimBlanks } from './fields.ts'

export interface Preconditions {
  ifNoneMatch: string | null
  ifModifiedSince: string | null
}

/** Whether a conditional request gets a 304 from a stored response (RFC 9111 §4.3.2, RFC 9110 §13.2.2). */
export function isNotModified(preconditions: Preconditions, headers: readonly HeaderPair[], now: number): boolean {
  if (preconditions.ifNoneMatch !== null)
    return matchesEntityTag(preconditions.ifNoneMatch, fieldValue(headers, 'etag'))
  if (preconditions.ifModifiedSince === null) return false
  const since = parseHttpDate(preconditions.ifModifiedSince, now)
  const modified = parseHttpDate(fieldValue(headers, 'last-modified') ?? fieldValue(headers, 'date') ?? '', now)
  return since !== null && modified !== null && modified <= since
}

/** Weak comparison with a list of entity tags (RFC 9110 §8.8.3.2). Unquoted tags are accepted too. */
export function matchesEntityTag(condition: string, etag: string | null): boolean {
  if (trimBlanks(condition) === '*') return true
  if (etag === null) return false
  const wanted = opaqueTag(etag)
  // One tag, as browsers send it.
  if (opaqueTag(condition) === wanted) return true
  return (condition.match(/(?:W\/)?"[^"]*"|[^\s,]+/gi) ?? []).some((tag) => opaqueTag(tag) === wanted)
}

function opaqueTag(tag: string): string {
  const trimmed = trimBlanks(tag)
  const start = /^W\//i.test(trimmed) ? 2 : 0
  const isQuoted = trimmed.length >= start + 2 && trimmed[start] === '"' && trimmed.endsWith('"')
  return isQuoted ? trimmed.slice(start + 1, -1) : trimmed.slice(start)
}

export function isStrong(etag: string): boolean {
  return etag.startsWith('"')
}

/** Weakens an entity tag: an encoded body is another representation (RFC 9110 §8.8.1). */
export function weaken(etag: string): string {
  return isStrong(etag) ? `W/${etag}` : etag
}

/** Whether If-Range allows a range of this representation (RFC 9110 §13.1.5). */
export function rangeStillHolds(condition: string | null, headers: readonly HeaderPair[], now: number): boolean {
  if (condition === null) return true
  const etag = fieldValue(headers, 'etag')
  if (/^(W\/)?"/.test(condition)) return etag !== null && isStrong(condition) && condition === etag
  const modified = parseHttpDate(fieldValue(headers, 'last-modified') ?? '', now)
  const date = parseHttpDate(fieldValue(headers, 'date') ?? '', now)
  // A Last-Modified within the second of Date is weak: the resource may have changed again in that second (RFC 9110
  // §8.8.2.2).
  return modified !== null && date !== null && date - modified >= 1000 && parseHttpDate(condition, now) === modified
}
