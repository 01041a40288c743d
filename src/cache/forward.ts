import { isIP } from 'node:net'
import { isIn, networks, plainAddress } from '../lib/networks.ts'
import { remembering } from '../lib/remembering.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { Channel } from './channel.ts'
import { connectionFields, cookieHeader, endToEnd, FieldNames, fieldValue, hasField, withoutFields } from './fields.ts'
import type { VisitHead } from './visit.ts'

/** The name of this cache in Via and Cache-Status. */
export const cacheName = 'pagecache'

/**
 * Fields by which a client could impersonate a proxy and poison the cache. They never reach the shop as they came;
 * those that a shop needs are written anew.
 */
const impersonating = new Set([
  'forwarded',
  'x-host',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
  'x-override-url',
  'x-http-host-override',
  'x-real-ip',
  'x-client-ip',
  'client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-scheme',
  'x-url-scheme',
  'front-end-https',
  'x-proxyuser-ip',
  'x-wap-profile',
  'x-arbitrary',
  'proxy',
  'surrogate-capability',
  'x-pagecache-debug',
  'x-pagecache-tags',
])

export const methodOverrides = new Set(['x-http-method-override', 'x-http-method', 'x-method-override'])

/**
 * Fields withheld from requests for storable responses: they are personal to the visitor, or this cache evaluates them
 * itself.
 */
const personal = new Set([
  'referer',
  'from',
  'via',
  'cache-control',
  'pragma',
  'accept-encoding',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
  'range',
  'content-length',
  'content-type',
  'content-encoding',
  'expect',
  ...methodOverrides,
])

/** Identifiers that infrastructure adds to each request. They differ every time and must not affect a page. */
const tracing =
  /^(?:x-(?:request-id|correlation-id|trace-id|amzn-.*|amz-cf-.*|b3-.*|cloud-trace-context|datadog-.*|request-start|queue-start|varnish|vinyl|azure-.*|arr-.*|akamai-.*|edge-.*|client-data|moz|purpose)|traceparent|tracestate|baggage|sentry-trace|b3|uber-trace-id|newrelic|elastic-apm-traceparent|cf-ray|cf-visitor|cf-ew-via)$/

/** A field name as CGI, FastCGI and WSGI read it: they do not distinguish underscores from dashes. */
function asRead(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

function impersonatesProxy(name: string): boolean {
  return impersonating.has(name) || name.startsWith('x-forwarded-')
}

/**
 * Whether a field is withheld from requests for storable responses. Names with an underscore always are: no legitimate
 * field has one.
 */
export const isWithheld = remembering((name) => {
  const lower = name.toLowerCase()
  return impersonatesProxy(lower) || personal.has(lower) || tracing.test(lower) || lower.includes('_')
})

/**
 * Request fields for a request that is passed through: all but hop-by-hop fields and those that impersonate a proxy.
 */
export function passHeaders(visit: VisitHead, isAsset = false): HeaderPair[] {
  const dropped = new FieldNames(connectionFields(visit.headers))
  dropped.add('expect')
  dropped.add('host')
  // GET and HEAD have no body and must not become another method.
  if (visit.method === 'GET' || visit.method === 'HEAD')
    for (const name of ['content-length', ...methodOverrides]) dropped.add(name)
  dropped.add('cookie')
  const kept = visit.headers.filter(
    ([name]) =>
      !dropped.has(name.toLowerCase()) &&
      !(name.includes('_') && dropped.has(asRead(name))) &&
      !impersonatesProxy(asRead(name)),
  )
  const cookie = isAsset ? null : cookieHeader(visit.headers)
  return [
    ...(visit.method === 'OPTIONS' ? kept.map(withOneHopLess) : kept),
    ...(cookie === null ? [] : ([['cookie', cookie]] satisfies HeaderPair[])),
    ...ownHeaders(visit, { scheme: visit.scheme, host: visit.host }),
  ]
}

/** Larger values of Max-Forwards are lowered to this one. */
const mostForwards = 255

/** Decrements Max-Forwards (RFC 9110 §7.6.2). */
function withOneHopLess(field: HeaderPair): HeaderPair {
  const [name, value] = field
  if (name.toLowerCase() !== 'max-forwards' || !/^0*[1-9]\d*$/.test(value)) return field
  return [name, String(Math.min(Number(value), mostForwards) - 1)]
}

/** What the shop gets from a visitor. */
export interface Sent {
  /** The visitor's fields. */
  sent: readonly HeaderPair[]
  /** The addresses in X-Forwarded-For, as far as they tell visitors apart. */
  addresses: readonly string[]
}

/** The fields of a request for the shop. */
export interface Outgoing extends Sent {
  headers: readonly HeaderPair[]
}

/**
 * Request fields for a request whose response may be stored.
 *
 * @param cookies as the cache key parsed them, so that the shop cannot parse them differently
 */
export function storableHeaders(visit: VisitHead, channel: Channel, cookies: ReadonlyMap<string, string>): Outgoing {
  const dropped = new FieldNames(connectionFields(visit.headers))
  dropped.add('host')
  dropped.add('cookie')
  // Keys do not have empty fields, but a shop may ask only whether a field exists.
  const sent = withoutFields(visit.headers, dropped).filter(([name, value]) => value !== '' && !isWithheld(name))
  if (cookies.size > 0) sent.push(['cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')])
  const addresses = addressesOf(visit)
    .map(bareAddress)
    .filter((address) => !isIn(localNetworks, address))
  return { headers: [...sent, ...ownHeaders(visit, channel)], sent, addresses }
}

/** An address without the port and the brackets that some proxies add. */
function bareAddress(address: string): string {
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(address) ?? /^([\d.]+):\d{1,5}$/.exec(address)
  return plainAddress(bare?.[1] ?? address)
}

/** The visitor's address, after those of the proxies before. What else a trusted proxy has passed on is left out: the visitor may have written it. */
function addressesOf({ forwardedFor, remoteAddress }: VisitHead): string[] {
  const forwarded = (forwardedFor ?? '').split(',').map((part) => part.trim())
  return [...forwarded, remoteAddress ?? ''].filter((part) => isIP(bareAddress(part)) !== 0)
}

/** Networks whose addresses tell no visitors of the internet apart, and are on the pages of test systems. */
const localNetworks = networks([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
])

function ownHeaders(visit: VisitHead, { scheme, host }: Pick<Channel, 'scheme' | 'host'>): HeaderPair[] {
  const port = /:(\d+)$/.exec(host)?.[1] ?? (scheme === 'https' ? '443' : '80')
  const address = addressesOf(visit).join(', ')
  return [
    ['host', host],
    ['x-forwarded-proto', scheme],
    ['x-forwarded-host', host],
    ['x-forwarded-port', port],
    ...(address === '' ? [] : ([['x-forwarded-for', address]] satisfies HeaderPair[])),
    ['via', `1.1 ${cacheName}`],
  ]
}

/** Adds the channel's credentials for the shop, unless the visitor sent some. */
export function withAuthorization(
  headers: readonly HeaderPair[],
  channel: Pick<Channel, 'authorization'>,
): HeaderPair[] {
  if (channel.authorization === null || hasField(headers, 'authorization')) return [...headers]
  return [...headers, ['authorization', channel.authorization]]
}

/** Whether a request has passed through this cache before: the origin leads back to the daemon. */
export function isLoop(headers: readonly HeaderPair[]): boolean {
  return (fieldValue(headers, 'via') ?? '').split(',').some((hop) => hop.trim().split(/\s+/)[1] === cacheName)
}

/** Fields between the shop and its caches, which visitors never see. */
const internal = new FieldNames([
  'xkey',
  'surrogate-key',
  'cache-tag',
  'sw-invalidation-states',
  'sw-dynamic-cache-bypass',
  'surrogate-control',
])

/** The response fields that a visitor sees. 1xx and 204 must not have a length (RFC 9110 §8.6). */
export function visibleHeaders({ status, headers }: { status: number; headers: readonly HeaderPair[] }): HeaderPair[] {
  const visible = withoutFields(endToEnd(headers), internal)
  return status >= 200 && status !== 204 ? visible : withoutFields(visible, lengthOnly)
}

const lengthOnly = new FieldNames(['content-length'])

/** The cache tags of a response, separated by whitespace and commas, without duplicates. */
export function tagsOf(headers: readonly HeaderPair[]): string[] {
  const tags = new Set<string>()
  for (const name of ['xkey', 'surrogate-key', 'cache-tag']) {
    const value = fieldValue(headers, name)
    if (value !== null) for (const tag of value.split(/[\s,]+/)) if (tag !== '') tags.add(tag)
  }
  return [...tags]
}
