import type { HeaderPair } from '../pages/page.ts'
import { directivesOf, requestDirectives, type Directives } from './cache-control.ts'
import { fieldValue, hasField } from './fields.ts'
import { mayBeAssumedStorable } from './freshness.ts'
import { varyNames } from './vary.ts'

/** What of the request the decision looks at. */
export interface Asked {
  headers: readonly HeaderPair[]
  unkeyedCookies: string | null
  /** A GET that had a body or tried to override its method. */
  odd: boolean
}

/** Statuses whose meaning we know, as `must-understand` asks (RFC 9111 §5.2.2.3). */
const understood = new Set([200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 421, 451, 500, 501, 502, 503, 504])

/** Fields by which a client asks for a part of a page: without Vary such an answer must not stand for the page. */
const fragmentFields = ['x-requested-with', 'x-pjax', 'x-inertia', 'hx-request', 'turbo-frame', 'rsc', 'next-router-state-tree']

/** The largest block of request fields, and single field, under which an error is taken for the page's own. */
const plainBlock = 4096
const plainField = 512

/**
 * Why a response must not be stored by a shared cache (RFC 9111 §3, §3.5; contract section 3), in words for an operator; null
 * where it may be.
 */
export function storeObstacle(asked: Asked, status: number, headers: readonly HeaderPair[], defaultTtl: number): string | null {
  const directives = directivesOf(headers)
  return responseObstacle(status, headers, directives, defaultTtl) ?? requestObstacle(asked, directives) ?? mismatch(asked, status, headers)
}

function requestObstacle(asked: Asked, directives: Directives): string | null {
  if (asked.odd) return 'the request had a body or a method override'
  if (requestDirectives(asked.headers).noStore) return 'the request said no-store'
  const shared = directives.public || directives.sMaxage !== null
  if (hasField(asked.headers, 'authorization') && !shared && !directives.mustRevalidate) return 'the request had an Authorization that the response does not allow for'
  if (asked.unkeyedCookies !== null && !shared && !directives.targeted) return 'the request had cookies and the response is not marked public or s-maxage'
  return null
}

function responseObstacle(status: number, headers: readonly HeaderPair[], directives: Directives, defaultTtl: number): string | null {
  if (directives.noStore && !(directives.mustUnderstand && understood.has(status))) return 'Cache-Control: no-store'
  if (directives.mustUnderstand && !understood.has(status)) return `must-understand with the unknown status ${status}`
  if (directives.private) return 'Cache-Control: private'
  if (varyNames(headers) === '*') return 'Vary: *'
  if (fieldValue(headers, 'sw-dynamic-cache-bypass') === '1') return 'sw-dynamic-cache-bypass'
  if (/^text\/event-stream/i.test(fieldValue(headers, 'content-type') ?? '')) return 'an event stream'
  const shared = directives.public || directives.sMaxage !== null
  if ((hasField(headers, 'set-cookie') || hasField(headers, 'set-cookie2')) && !shared) return 'Set-Cookie without public or s-maxage'
  const explicit = shared || directives.maxAge !== null || (!directives.targeted && hasField(headers, 'expires'))
  if (explicit) return null
  if (!mayBeAssumedStorable(status)) return `status ${status} without explicit freshness`
  const validator = hasField(headers, 'etag') || hasField(headers, 'last-modified')
  return validator || defaultTtl > 0 ? null : 'no freshness and no validator'
}

function mismatch(asked: Asked, status: number, headers: readonly HeaderPair[]): string | null {
  const vary = varyNames(headers)
  if (vary.includes('cookie') && asked.unkeyedCookies !== null) return 'Vary: Cookie, and the request had cookies outside the key'
  const fragment = fragmentFields.find(name => hasField(asked.headers, name) && !vary.includes(name))
  if (fragment !== undefined) return `the request had ${fragment}, which Vary does not name`
  return status >= 400 && isOdd(asked.headers, vary) ? 'an error to a request with unusual fields' : null
}

/** Whether an error may have come from the request's own fields rather than from the page. */
function isOdd(headers: readonly HeaderPair[], vary: readonly string[] | '*'): boolean {
  let size = 0
  for (const [name, value] of headers) {
    size += name.length + value.length + 4
    const extension = /^x-/i.test(name) && !/^x-forwarded-/i.test(name) && !vary.includes(name.toLowerCase())
    if (extension || value.length > plainField || /[^\x20-\x7e]/.test(value)) return true
  }
  return size > plainBlock
}
