import type { HeaderPair } from '../pages/page.ts'
import type { Channel } from './channel.ts'
import { connectionFields, cookieHeader, fieldValue, hasField, parseCookies, withoutFields } from './fields.ts'
import type { Visit } from './visit.ts'

/** By this name we are known in Via and Cache-Status. */
export const proxyName = 'pagecache'

/**
 * Fields by which a client could speak for a proxy (shared/threats: poisoning). They never reach the shop as they came; those
 * that a shop needs are written anew from what we know.
 */
const spoken = new Set([
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
  'x-pagecache-tags',
])

export const methodOverrides = new Set(['x-http-method-override', 'x-http-method', 'x-method-override'])

/** On a request whose answer may be everybody's: what only this visitor said, and what we answer ourselves from the whole page. */
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

/** Numbers by which infrastructure tells requests apart: other ones each time, and none of a page's business. */
const tracing =
  /^(?:x-(?:request-id|correlation-id|trace-id|amzn-.*|amz-cf-.*|b3-.*|cloud-trace-context|datadog-.*|request-start|queue-start|varnish|azure-.*|arr-.*|akamai-.*|edge-.*|client-data|moz|purpose)|traceparent|tracestate|baggage|sentry-trace|b3|uber-trace-id|newrelic|elastic-apm-traceparent|cf-ray|cf-visitor|cf-ew-via)$/

/** How a shop may read a name: gateways to scripts (CGI, FastCGI, WSGI) do not tell an underscore from a dash. */
function asRead(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

function isSpoken(name: string): boolean {
  return spoken.has(name) || name.startsWith('x-forwarded-')
}

/** Whether a field never goes along with a request whose answer may be stored; a field with an underscore is nobody's name for anything. */
export function isWithheld(name: string): boolean {
  const lower = name.toLowerCase()
  return isSpoken(lower) || personal.has(lower) || tracing.test(lower) || lower.includes('_')
}

/** Request fields for a passed-through request: unchanged but for the connection's own and what a client must not say. */
export function passHeaders(visit: Visit): HeaderPair[] {
  const dropped = connectionFields(visit.headers)
  dropped.add('expect')
  dropped.add('host')
  // These have no body, and do nothing but read.
  if (visit.method === 'GET' || visit.method === 'HEAD')
    for (const name of ['content-length', ...methodOverrides]) dropped.add(name)
  dropped.add('cookie')
  const kept = visit.headers.filter(
    ([name]) =>
      !dropped.has(name.toLowerCase()) && !(name.includes('_') && dropped.has(asRead(name))) && !isSpoken(asRead(name)),
  )
  const cookie = cookieHeader(visit.headers)
  return [
    ...kept,
    ...(cookie === null ? [] : ([['cookie', cookie]] satisfies HeaderPair[])),
    ...ownHeaders(visit, { scheme: visit.scheme, host: visit.host }),
  ]
}

/** Request fields for a request whose answer may be stored. What of them came from the visitor is `sent`. */
export function storableHeaders(visit: Visit, channel: Channel): { headers: HeaderPair[]; sent: HeaderPair[] } {
  const dropped = connectionFields(visit.headers)
  dropped.add('host')
  dropped.add('cookie')
  const sent = withoutFields(visit.headers, dropped).filter(([name]) => !isWithheld(name))
  const cookies = parseCookies(cookieHeader(visit.headers))
  // The cookies as the key has understood them, so that the shop does not understand them in another way.
  if (cookies.size > 0) sent.push(['cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')])
  return { headers: [...sent, ...ownHeaders(visit, channel)], sent }
}

function ownHeaders(visit: Visit, { scheme, host }: Pick<Channel, 'scheme' | 'host'>): HeaderPair[] {
  const port = /:(\d+)$/.exec(host)?.[1] ?? (scheme === 'https' ? '443' : '80')
  // A trusted proxy passes on what visitors wrote before its own word: addresses alone are kept.
  const forwarded = (visit.forwardedFor ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => /^[\da-f.:[\]]{2,47}$/i.test(part))
  const address = [...forwarded, visit.remoteAddress ?? ''].filter((part) => part !== '').join(', ')
  return [
    ['host', host],
    ['x-forwarded-proto', scheme],
    ['x-forwarded-host', host],
    ['x-forwarded-port', port],
    ...(address === '' ? [] : ([['x-forwarded-for', address]] satisfies HeaderPair[])),
    ['via', `1.1 ${proxyName}`],
  ]
}

/** Lets a request into a shop that asks for credentials of ours; a visitor's own go before them. */
export function withAuthorization(
  headers: readonly HeaderPair[],
  channel: Pick<Channel, 'authorization'>,
): HeaderPair[] {
  if (channel.authorization === null || hasField(headers, 'authorization')) return [...headers]
  return [...headers, ['authorization', channel.authorization]]
}

/** A request that has come through us before: the shop's address leads back to the daemon. */
export function isLoop(headers: readonly HeaderPair[]): boolean {
  return (fieldValue(headers, 'via') ?? '').split(',').some((hop) => hop.trim().split(/\s+/)[1] === proxyName)
}

/** Tags and states are between the shop and its caches (contract section 3). */
const internal = [
  'xkey',
  'surrogate-key',
  'cache-tag',
  'sw-invalidation-states',
  'sw-dynamic-cache-bypass',
  'surrogate-control',
]

/** Response fields as they go to a visitor. */
export function visibleHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  const dropped = connectionFields(headers)
  for (const name of internal) dropped.add(name)
  return withoutFields(headers, dropped)
}

/** Cache tags of a response, blanks and commas separate them; each once. */
export function tagsOf(headers: readonly HeaderPair[]): string[] {
  const tags = new Set<string>()
  for (const name of ['xkey', 'surrogate-key', 'cache-tag']) {
    for (const tag of (fieldValue(headers, name) ?? '').split(/[\s,]+/)) if (tag !== '') tags.add(tag)
  }
  return [...tags]
}
