import type { Memo } from '../lib/memo.ts'
import { remembering } from '../lib/remembering.ts'
import { toEncoding } from '../pages/codec.ts'
import type { HeaderPair } from '../pages/page.ts'
import { excludedStates } from './bypass.ts'
import { directivesOf, requestDirectives, type Directives } from './cache-control.ts'
import { holdsMarkup, isCommonBrowserValue, isImplausibleValue, isUsualAccept } from './browser-values.ts'
import { fieldValue, hasField, trimBlanks } from './fields.ts'
import { isWithheld } from './forward.ts'
import { mayBeAssumedStorable } from './freshness.ts'
import { isKeyed, type KeyedFields } from './keyed.ts'
import { varyNames } from './vary.ts'

/** The parts of a request that decide whether its response may be stored. */
export interface RequestTraits extends KeyedFields {
  headers: readonly HeaderPair[]
  unkeyedCookies: string | null
  /** Scheme and host of the channel. */
  site: string
  /** Client states (`sw-states`) of the visitor. */
  states: readonly string[]
  /** A GET that had a body or tried to override its method. */
  odd: boolean
  /** What follows from these fields, and from little else. */
  remembered: Memo
}

/** Shopware answers one visitor, whose `sw-cache-hash` is out of date; the page itself may be stored. */
export const dynamicBypass = 'sw-dynamic-cache-bypass'

/** Statuses that the cache understands, for `must-understand` (RFC 9111 §5.2.2.3). */
const understood = new Set([
  200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 421, 451, 500, 501, 502, 503, 504,
])

/**
 * Fields that no browser sends by itself: extensions, and fields with which a script requests a part of a page. A shop may respond to
 * them with something other than its page, so outside the key they prevent storing.
 */
const steering =
  /^(?:(?:x|sw|hx|turbo|next|up|inertia|livewire|unpoly|datastar)-.*|rsc|prefer|a-im|negotiate|accept-(?:datetime|features|profile|version)|api-version|soapaction|depth|destination|translate)$/i

/** Fields whose name suggests that they choose the content, except those that browsers send. */
const choosing =
  /^(?!sec-|accept-language$|user-agent$|device-memory$|host$)(?:content-.*|last-event-id|max-forwards|cookie2|(?:user|client|customer|site|shop|store|device|app)(?:-.*)?|(?:.*-)?(?:lang|language|locale|country|region|city|currency|theme|skin|template|group|role|tenant|channel|api-?key|token|debug|preview|format|mode|env|variant|experiment|host|ip))$/i

/** Statuses that concern this one request, not the page (RFC 9110 §15.5, RFC 6585). */
const personalStatuses = new Set([406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 422, 425, 426, 428, 431, 511])

/** The types of ordinary pages: a response of these types was not chosen by an unusual Accept. */
const html = new Set(['text/html', 'application/xhtml+xml'])

/** Largest header block and largest single field, in bytes, of a request whose error response may be stored. */
const plainBlock = 4096
const plainField = 512

/**
 * Why a response must not be stored by a shared cache (RFC 9111 §3, §3.5), worded for operators; null if it may
 * be stored.
 */
export function reasonNotToStore(
  asked: RequestTraits,
  status: number,
  headers: readonly HeaderPair[],
  defaultTtl: number,
): string | null {
  const directives = directivesOf(headers)
  return (
    reasonInResponse(status, headers, directives, defaultTtl) ??
    reasonInRequest(asked, directives) ??
    mismatch(asked, status, headers)
  )
}

function reasonInRequest(asked: RequestTraits, directives: Directives): string | null {
  if (asked.odd) return 'the request had a body or a method override'
  if (requestDirectives(asked.headers).noStore) return 'the request said no-store'
  const shared = directives.public || directives.sMaxage !== null
  if (hasField(asked.headers, 'authorization') && !shared && !directives.mustRevalidate)
    return 'the request had Authorization and the response is not public, s-maxage or must-revalidate'
  if (asked.unkeyedCookies !== null && !shared && !directives.targeted)
    return 'the request had cookies and the response is not marked public or s-maxage'
  return null
}

function reasonInResponse(
  status: number,
  headers: readonly HeaderPair[],
  directives: Directives,
  defaultTtl: number,
): string | null {
  if (fieldValue(headers, 'sw-dynamic-cache-bypass') === '1') return dynamicBypass
  if (directives.noStore && !(directives.mustUnderstand && understood.has(status))) return 'Cache-Control: no-store'
  if (directives.mustUnderstand && !understood.has(status)) return `must-understand with unknown status ${status}`
  if (directives.private) return 'Cache-Control: private'
  if (varyNames(headers) === '*') return 'Vary: *'
  const type = fieldValue(headers, 'content-type') ?? ''
  if (isEventStream(type)) return 'an event stream'
  if (isIllegible(type)) return 'a character set in which values of the request cannot be found'
  if (isUnread(headers)) return 'a Content-Encoding that is not supported'
  const shared = directives.public || directives.sMaxage !== null
  if ((hasField(headers, 'set-cookie') || hasField(headers, 'set-cookie2')) && !shared)
    return 'Set-Cookie without public or s-maxage'
  const explicit = shared || directives.maxAge !== null || (!directives.targeted && hasField(headers, 'expires'))
  if (explicit) return null
  if (!mayBeAssumedStorable(status)) return `status ${status} without explicit freshness`
  const validator = hasField(headers, 'etag') || hasField(headers, 'last-modified')
  return validator || defaultTtl > 0 ? null : 'no freshness and no validator'
}

/** Whether text of a type has other bytes for ASCII characters than ASCII. */
const isIllegible = remembering((type) => /charset\s*=\s*["']?(?:utf-?(?:7|16|32)|ucs|unicode|iso-10646)/i.test(type))
/** Whether clients may decode the coding of a body and this cache does not. What no client knows as a coding harms no visitor. */
export function isUnread(headers: readonly HeaderPair[]): boolean {
  const codings = fieldValue(headers, 'content-encoding')
  return codings !== null && areUnread(codings)
}

const areUnread = remembering(
  (codings) =>
    toEncoding(codings) === null && /\b(?:(?:x-)?gzip|deflate|br|zstd|(?:x-)?compress|dc[bz])\b/i.test(codings),
)
const isEventStream = remembering((type) => /^text\/event-stream/i.test(type))
/** The media type of a Content-Type, in lower case and without parameters. */
const mediaTypeOf = remembering((type) => trimBlanks(type.split(';')[0]!).toLowerCase())

function mismatch(asked: RequestTraits, status: number, headers: readonly HeaderPair[]): string | null {
  const vary = varyNames(headers)
  if (vary.includes('cookie') && asked.unkeyedCookies !== null)
    return 'Vary: Cookie and the request had cookies outside the key'
  const state = excludedStates(headers).find((each) => asked.states.includes(each))
  if (state !== undefined) return `the page excludes visitors in state ${state}`
  const unkeyed = (name: string) => !isKeyed(asked, vary, name.toLowerCase())
  const peculiar = asked.remembered.of(
    `peculiarity ${vary}`,
    [asked.headers, asked.keyedFields, asked.classified, asked.unkeyedCookies],
    () => peculiarity(asked, unkeyed),
  )
  if (peculiar !== null) return peculiar
  if (unkeyed('origin') && isForeign(asked, headers))
    return 'the request came from another Origin without Vary: Origin or Access-Control-Allow-Origin: *'
  const type = mediaTypeOf(fieldValue(headers, 'content-type') ?? '')
  if (unkeyed('accept') && !html.has(type) && !isUsualAccept(fieldValue(asked.headers, 'accept'), type))
    return 'the request had an unusual Accept without Vary: Accept, and the response is not HTML'
  if (personalStatuses.has(status)) return `status ${status}, which is about the request`
  return status >= 400 && isOdd(asked.headers, unkeyed) ? 'an error to a request with unusual fields' : null
}

const mayChoose = remembering((name) => steering.test(name) || choosing.test(name))

/** Whether no browser sends a field, given as a line. */
const isOutlandish = remembering((line) => {
  const colon = line.indexOf(':')
  return isImplausibleValue(line.slice(0, colon).toLowerCase(), line.slice(colon + 1))
})

/** Names what no browser would send in a request; null if there is nothing. `counts`: whether a field is checked. */
function peculiarity(asked: RequestTraits, counts: (name: string) => boolean): string | null {
  const told = asked.headers.filter(([name]) => name.toLowerCase() !== 'cookie' && !isWithheld(name) && counts(name))
  const steered = told.find(([name]) => mayChoose(name))
  if (steered !== undefined) return `the request had ${steered[0].toLowerCase()}, which is in neither the key nor Vary`
  const outlandish = told.find(([name, value]) => isOutlandish(`${name}:${value}`))
  if (outlandish !== undefined) return `no browser sends the request's ${outlandish[0].toLowerCase()}`
  return asked.unkeyedCookies !== null && holdsMarkup(asked.unkeyedCookies)
    ? 'the request had markup in its cookies'
    : null
}

/** Whether a request is ordinary enough that its response tells whether the page can be stored at all. */
export function isTypicalRequest(asked: RequestTraits): boolean {
  const unkeyed = (name: string) => !isKeyed(asked, [], name.toLowerCase())
  return (
    !requestDirectives(asked.headers).noStore &&
    peculiarity(asked, unkeyed) === null &&
    isUsualAccept(fieldValue(asked.headers, 'accept'), null) &&
    (fieldValue(asked.headers, 'origin') ?? asked.site) === asked.site
  )
}

/** Whether a script of another site sent the request and the response may be for that site only. Fonts and the like allow all sites. */
function isForeign(asked: RequestTraits, headers: readonly HeaderPair[]): boolean {
  const origin = fieldValue(asked.headers, 'origin')
  return origin !== null && origin !== asked.site && fieldValue(headers, 'access-control-allow-origin') !== '*'
}

/** A syntactically valid Accept-Language (RFC 9110 §12.5.4). */
const languages = /^(?:(?:[a-z]{1,8}(?:-[a-z0-9]{1,8})*|\*)(?:;\s?q=[\d.]+)?(?:,\s?|$))+$/i

/** Whether unusual request fields outside the key, rather than the page, may have caused an error. */
function isOdd(headers: readonly HeaderPair[], unkeyed: (name: string) => boolean): boolean {
  let size = 0
  for (const [name, value] of headers) {
    size += name.length + value.length + 4
    const lower = name.toLowerCase()
    const extension = lower.startsWith('x-') && !lower.startsWith('x-forwarded-')
    const odd =
      lower === 'range' ||
      (lower === 'accept' && !isCommonBrowserValue(lower, value)) ||
      (lower === 'accept-language' && !languages.test(value))
    if (((extension || odd) && unkeyed(lower)) || value.length > plainField || /[^\x20-\x7e]/.test(value)) return true
  }
  return size > plainBlock
}
