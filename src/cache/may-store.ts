import type { HeaderPair } from '../pages/page.ts'
import { excludedStates } from './bypass.ts'
import { directivesOf, requestDirectives, type Directives } from './cache-control.ts'
import { holdsMarkup, isCommonBrowserValue, isImplausibleValue, isUsualAccept } from './browser-values.ts'
import { fieldValue, hasField } from './fields.ts'
import { isWithheld } from './forward.ts'
import { mayBeAssumedStorable } from './freshness.ts'
import { varyNames } from './vary.ts'

/** The parts of a request that decide whether its response may be stored. */
export interface RequestTraits {
  headers: readonly HeaderPair[]
  /** Fields in the primary key, in lower case. */
  keyedFields: readonly string[]
  unkeyedCookies: string | null
  /** Scheme and host of the channel. */
  site: string
  /** The visitor's client states (`sw-states`). */
  states: readonly string[]
  /** Whether it is a GET with a body or a method override. */
  odd: boolean
}

/** Statuses that this cache understands, as `must-understand` requires (RFC 9111 §5.2.2.3). */
const understood = new Set([
  200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 421, 451, 500, 501, 502, 503, 504,
])

/**
 * Fields that browsers never send by themselves: extensions, and fields by which a script requests a part of a page. A
 * shop may answer them differently, so outside the key they prevent storing.
 */
const steering =
  /^(?:(?:x|sw|hx|turbo|next|up|inertia|livewire|unpoly|datastar)-.*|rsc|prefer|a-im|negotiate|accept-(?:datetime|features|profile|version)|api-version|soapaction|depth|destination|translate)$/i

/** Statuses that are about this client's request (RFC 9110 §15.5, RFC 6585). */
const personalStatuses = new Set([406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 422, 425, 426, 428, 431, 511])

/** HTML responses: an unusual Accept has not changed what the shop sends. */
const html = new Set(['text/html', 'application/xhtml+xml'])

/**
 * The largest block of request fields, and the longest field value, with which an error still counts as the page's own.
 * In characters.
 */
const plainBlock = 4096
const plainField = 512

/** Why a shared cache must not store a response (RFC 9111 §3, §3.5), in words for an operator; null when it may. */
export function reasonNotToStore(
  request: RequestTraits,
  status: number,
  headers: readonly HeaderPair[],
  defaultTtl: number,
): string | null {
  const directives = directivesOf(headers)
  return (
    responseReason(status, headers, directives, defaultTtl) ??
    requestReason(request, directives) ??
    mismatch(request, status, headers)
  )
}

function requestReason(request: RequestTraits, directives: Directives): string | null {
  if (request.odd) return 'the request had a body or a method override'
  if (requestDirectives(request.headers).noStore) return 'the request said no-store'
  const shared = directives.public || directives.sMaxage !== null
  if (hasField(request.headers, 'authorization') && !shared && !directives.mustRevalidate)
    return 'the request had Authorization and the response is not public, s-maxage or must-revalidate'
  if (request.unkeyedCookies !== null && !shared && !directives.targeted)
    return 'the request had cookies and the response is not marked public or s-maxage'
  return null
}

function responseReason(
  status: number,
  headers: readonly HeaderPair[],
  directives: Directives,
  defaultTtl: number,
): string | null {
  if (directives.noStore && !(directives.mustUnderstand && understood.has(status))) return 'Cache-Control: no-store'
  if (directives.mustUnderstand && !understood.has(status)) return `must-understand with unknown status ${status}`
  if (directives.private) return 'Cache-Control: private'
  if (varyNames(headers) === '*') return 'Vary: *'
  if (fieldValue(headers, 'sw-dynamic-cache-bypass') === '1') return 'sw-dynamic-cache-bypass'
  if (/^text\/event-stream/i.test(fieldValue(headers, 'content-type') ?? '')) return 'an event stream'
  const shared = directives.public || directives.sMaxage !== null
  if ((hasField(headers, 'set-cookie') || hasField(headers, 'set-cookie2')) && !shared)
    return 'Set-Cookie without public or s-maxage'
  const explicit = shared || directives.maxAge !== null || (!directives.targeted && hasField(headers, 'expires'))
  if (explicit) return null
  if (!mayBeAssumedStorable(status)) return `status ${status} without explicit freshness`
  const validator = hasField(headers, 'etag') || hasField(headers, 'last-modified')
  return validator || defaultTtl > 0 ? null : 'no freshness and no validator'
}

function mismatch(request: RequestTraits, status: number, headers: readonly HeaderPair[]): string | null {
  const vary = varyNames(headers)
  if (vary.includes('cookie') && request.unkeyedCookies !== null)
    return 'Vary: Cookie and the request had cookies outside the key'
  const state = excludedStates(headers).find((each) => request.states.includes(each))
  if (state !== undefined) return `the page excludes visitors in state ${state}`
  const unkeyed = (name: string) =>
    !vary.includes(name.toLowerCase()) && !request.keyedFields.includes(name.toLowerCase())
  const implausible = implausiblePart(request, unkeyed)
  if (implausible !== null) return implausible
  if (unkeyed('origin') && isForeign(request, headers))
    return 'the request came from another Origin without Vary: Origin or Access-Control-Allow-Origin: *'
  const type = (fieldValue(headers, 'content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  if (unkeyed('accept') && !html.has(type) && !isUsualAccept(fieldValue(request.headers, 'accept')))
    return 'the request had an unusual Accept without Vary: Accept, and the response is not HTML'
  if (personalStatuses.has(status)) return `status ${status}, which is about the request`
  return status >= 400 && isOdd(request.headers, vary) ? 'an error to a request with unusual fields' : null
}

/**
 * What no browser would send in this request, in words; null when there is nothing. `counts`: whether a field is
 * examined.
 */
function implausiblePart(request: RequestTraits, counts: (name: string) => boolean): string | null {
  const fields = request.headers.filter(
    ([name]) => name.toLowerCase() !== 'cookie' && !isWithheld(name) && counts(name),
  )
  const steered = fields.find(([name]) => steering.test(name))
  if (steered !== undefined) return `the request had ${steered[0].toLowerCase()}, which is in neither the key nor Vary`
  const implausible = fields.find(([name, value]) => isImplausibleValue(name.toLowerCase(), value))
  if (implausible !== undefined) return `no browser sends the request's ${implausible[0].toLowerCase()}`
  return request.unkeyedCookies !== null && holdsMarkup(request.unkeyedCookies)
    ? 'the request had markup in its cookies'
    : null
}

/** Whether the response to a request depends on the page alone and not on peculiarities of this request. */
export function isTypicalRequest(request: RequestTraits): boolean {
  const unkeyed = (name: string) => !request.keyedFields.includes(name.toLowerCase())
  return (
    implausiblePart(request, unkeyed) === null &&
    isUsualAccept(fieldValue(request.headers, 'accept')) &&
    (fieldValue(request.headers, 'origin') ?? request.site) === request.site
  )
}

/**
 * Whether a script of another site sent the request, so that the response may be for that site alone.
 * `Access-Control-Allow-Origin: *` marks a response for all sites.
 */
function isForeign(request: RequestTraits, headers: readonly HeaderPair[]): boolean {
  const origin = fieldValue(request.headers, 'origin')
  return origin !== null && origin !== request.site && fieldValue(headers, 'access-control-allow-origin') !== '*'
}

/** The grammar of Accept-Language (RFC 9110 §12.5.4). */
const languages = /^(?:(?:[a-z]{1,8}(?:-[a-z0-9]{1,8})*|\*)(?:;\s?q=[\d.]+)?(?:,\s?|$))+$/i

/** Whether an error may be caused by unusual request fields rather than by the page. */
function isOdd(headers: readonly HeaderPair[], vary: readonly string[] | '*'): boolean {
  let size = 0
  for (const [name, value] of headers) {
    size += name.length + value.length + 4
    const extension = /^x-/i.test(name) && !/^x-forwarded-/i.test(name) && !vary.includes(name.toLowerCase())
    const lower = name.toLowerCase()
    const odd =
      lower === 'range' ||
      (lower === 'accept' && !isCommonBrowserValue(lower, value)) ||
      (lower === 'accept-language' && !languages.test(value))
    if (extension || (odd && !vary.includes(lower)) || value.length > plainField || /[^\x20-\x7e]/.test(value))
      return true
  }
  return size > plainBlock
}
