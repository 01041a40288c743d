import { ipFamily } from '../lib/ip-family.ts'
import { trimEndingSlashes } from '../lib/url.ts'
import { canonicalUuid } from '../lib/uuid.ts'
import { parseDuration, parseShare, parseSize } from '../lib/quantity.ts'
import { value, valueKinds, type JsonForm } from './value.ts'

/** Value types of the configuration. Each has a description of the expected value, which is its error message. */

const string = { type: 'string' }
const httpUrl = { ...string, pattern: '^[hH][tT][tT][pP][sS]?://' }
const stringOrNull = { type: ['string', 'null'] }
/** A quantity with its unit, or a number. */
const quantity = { type: ['string', 'number'], pattern: '^\\d+(\\.\\d+)? ?[A-Za-z]+$' }
const quantityOrNull = { ...quantity, type: ['string', 'number', 'null'] }

export function wholeNumber(minimum: number, maximum: number) {
  return value(
    `a whole number from ${minimum} to ${maximum}`,
    (input) =>
      typeof input === 'number' && Number.isInteger(input) && input >= minimum && input <= maximum ? input : undefined,
    { type: 'integer', minimum, maximum },
  )
}

export function positiveNumberOrNull() {
  return value(
    'a number above 0, or null for no limit',
    (input) =>
      input === null || (typeof input === 'number' && Number.isFinite(input) && input > 0) ? input : undefined,
    { type: ['number', 'null'], exclusiveMinimum: 0 },
  )
}

export function flag() {
  return value('true or false', (input) => (typeof input === 'boolean' ? input : undefined), { type: 'boolean' })
}

export function oneOf<const T extends string>(names: readonly T[]) {
  return value(
    names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`,
    (input) => names.find((name) => name === input),
    { enum: [...names] },
  )
}

/** A duration in ms, at least `minimum`. */
export function duration(minimum = 0) {
  const least = minimum === 0 ? '' : ` of at least ${minimum}ms`
  const schema = value(
    `a duration${least} such as 30s or 5m, or a number of seconds`,
    (input) => {
      const parsed = parseDuration(input)
      return parsed === undefined || parsed < minimum ? undefined : parsed
    },
    quantity,
  )
  valueKinds.add(schema, { kind: 'duration' })
  return schema
}

/** A duration in ms, or null. */
export function durationOrNull() {
  const schema = value(
    'a duration such as 30s, or null',
    (input) => (input === null ? null : parseDuration(input)),
    quantityOrNull,
  )
  valueKinds.add(schema, { kind: 'duration' })
  return schema
}

/** A size in bytes. */
export function size() {
  const schema = value('a size such as 128MB, or a number of bytes', parseSize, quantity)
  valueKinds.add(schema, { kind: 'size' })
  return schema
}

/** A size in bytes, or null for an automatic one. */
export function sizeOrNull() {
  const schema = value(
    'a size such as 10GB, a number of bytes, or null for the automatic limit',
    (input) => (input === null ? null : parseSize(input) || undefined),
    quantityOrNull,
  )
  valueKinds.add(schema, { kind: 'size' })
  return schema
}

/** A percentage as a share from 0 to 1, or null. */
export function shareOrNull() {
  const schema = value(
    'a percentage from 0% to 100% such as 20%, or null',
    (input) => (input === null ? null : parseShare(input)),
    stringOrNull,
  )
  valueKinds.add(schema, { kind: 'share' })
  return schema
}

export function text(expected: string, matches: RegExp) {
  return value(
    expected,
    (input) => (typeof input === 'string' && matches.test(input) ? input : undefined),
    textForm(matches),
  )
}

/** Patterns with flags cannot be written in JSON Schema. */
function textForm(matches: RegExp): JsonForm {
  return matches.flags === '' ? { ...string, pattern: matches.source } : string
}

/** A UUID, normalised to lower case with dashes. */
export function uuid() {
  return value(
    'a UUID such as 0190c0de-0000-7000-8000-000000000001',
    (input) => (typeof input === 'string' ? (canonicalUuid(input) ?? undefined) : undefined),
    string,
  )
}

/** `token` of RFC 9110 §5.6.2: the syntax of header and cookie names. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

export function headerName() {
  return value(
    'a header name',
    (input) => (typeof input === 'string' && token.test(input) ? input.toLowerCase() : undefined),
    textForm(token),
  )
}

export function headerNameOrNull() {
  return value(
    'a header name, or null',
    (input) => {
      if (input === null) return null
      return typeof input === 'string' && token.test(input) ? input.toLowerCase() : undefined
    },
    stringOrNull,
  )
}

/** One of the names, or null. */
export function oneOfOrNull<const T extends string>(names: readonly T[]) {
  return value(
    `one of ${names.join(', ')}, or null`,
    (input) => (input === null ? null : names.find((name) => name === input)),
    { enum: [...names, null] },
  )
}

export function textOrNull(expected: string, matches: RegExp) {
  return value(
    `${expected}, or null`,
    (input) => (input === null || (typeof input === 'string' && matches.test(input)) ? input : undefined),
    stringOrNull,
  )
}

/** Path of a Unix socket; the system limits its length. */
export function socketPathOrNull() {
  return value(
    'an absolute path of at most 100 characters, or null',
    (input) => {
      if (input === null) return null
      return typeof input === 'string' && /^\/[^\u0000-\u001f]{1,99}$/.test(input) ? input : undefined
    },
    stringOrNull,
  )
}

export function cookieName() {
  return text('a cookie name', token)
}

/** A cookie, or alternatives: the first one that a visitor has counts. */
export function cookieNames() {
  return value(
    'a cookie name, or alternatives such as a | b',
    (input) => {
      const names = typeof input === 'string' ? input.split('|').map((name) => name.trim()) : []
      return names.length > 0 && names.every((name) => token.test(name)) ? names.join(' | ') : undefined
    },
    string,
  )
}

export function cookieNameOrNull() {
  return textOrNull('a cookie name', token)
}

export function path() {
  return text('a path that begins with /', /^\/[^\s\u0000-\u001f]*$/)
}

/** An address or a network in CIDR notation, as accepted by node:net's BlockList. */
export function network() {
  return value(
    'an IP address or a network such as 10.0.0.0/8',
    (input) => {
      const match = typeof input === 'string' ? /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(input) : null
      const family = ipFamily(match?.[1] ?? '')
      if (!match || family === 0) return undefined
      const bits = match[2] === undefined ? 0 : Number(match[2])
      return bits <= (family === 4 ? 32 : 128) ? match[0] : undefined
    },
    string,
  )
}

/** A host name or address of the daemon without scheme and port, in lower case. */
export function hostName() {
  return value(
    'a host name such as cache.internal, without scheme and port',
    (input) =>
      typeof input === 'string' && /^[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?$/i.test(input)
        ? input.toLowerCase()
        : undefined,
    string,
  )
}

/** Public URL of a sales channel: scheme, host, path prefix, without a trailing slash. */
export function publicUrl() {
  return value(
    'a URL such as http://shop.example/de, without user, query and fragment',
    (input) => {
      const url = toHttpUrl(input)
      if (!url || url.username || url.password) return undefined
      return url.origin + trimEndingSlashes(url.pathname)
    },
    httpUrl,
  )
}

/** URL of a server: scheme, host, port; it may contain credentials. */
export function serverUrl() {
  return value(
    'a URL such as http://127.0.0.1:8000, without path, query and fragment',
    (input) => {
      const url = toHttpUrl(input)
      return url && url.pathname === '/' ? url.href.slice(0, -1) : undefined
    },
    httpUrl,
  )
}

/** Location of a sitemap: an absolute URL, or a path below the channel's URL. */
export function sitemapLocation() {
  return value(
    'a path such as /sitemap.xml, or a URL',
    (input) => {
      if (typeof input === 'string' && /^\/(?!\/)\S*$/.test(input)) return input
      return toHttpUrl(input, { query: true })?.href
    },
    string,
  )
}

/** URL of a webhook; it may contain credentials and a query. */
export function webhookUrl() {
  return value('an http or https URL', (input) => toHttpUrl(input, { query: true })?.href, httpUrl)
}

/** A share between 0 and 1, or null. */
function toHttpUrl(input: unknown, allow = { query: false }): URL | undefined {
  if (typeof input !== 'string' || /[\s\\]/.test(input) || !URL.canParse(input)) return undefined
  const url = new URL(input)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  return url.hash || (url.search && !allow.query) ? undefined : url
}
