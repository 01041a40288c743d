import type { HeaderPair } from '../pages/page.ts'
import type { Channel } from './channel.ts'
import { connectionFields, fieldValue, withoutFields } from './fields.ts'
import type { Visit } from './visit.ts'

/** By this name we are known in Via and Cache-Status. */
export const proxyName = 'pagecache'

/**
 * Fields by which a client could speak for a proxy (shared/threats: poisoning). They never reach the shop as they came; those
 * that a shop needs are written anew from what we know.
 */
const spoken = new Set([
  'forwarded', 'x-host', 'x-original-host', 'x-original-url', 'x-rewrite-url', 'x-override-url', 'x-http-host-override', 'x-real-ip', 'x-client-ip', 'client-ip',
  'x-cluster-client-ip', 'true-client-ip', 'cf-connecting-ip', 'fastly-client-ip', 'x-originating-ip', 'x-remote-ip', 'x-remote-addr', 'x-scheme', 'x-url-scheme',
  'front-end-https', 'x-proxyuser-ip', 'x-wap-profile', 'x-arbitrary', 'proxy', 'surrogate-capability',
])

export const methodOverrides = new Set(['x-http-method-override', 'x-http-method', 'x-method-override'])

/** On a request whose answer may be everybody's: what only this visitor said, and what we answer ourselves from the whole page. */
const personal = new Set([
  'referer', 'cache-control', 'pragma', 'accept-encoding', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since', 'if-range', 'range', 'content-length', 'content-type',
  'content-encoding', 'expect', ...methodOverrides,
])

function isSpoken(name: string): boolean {
  return spoken.has(name) || name.startsWith('x-forwarded-')
}

/** Request fields for a passed-through request: unchanged but for the connection's own and what a client must not say. */
export function passHeaders(visit: Visit, channel: Channel): HeaderPair[] {
  const dropped = connectionFields(visit.headers)
  dropped.add('expect')
  dropped.add('host')
  if (visit.method === 'GET' || visit.method === 'HEAD') for (const name of methodOverrides) dropped.add(name)
  const kept = withoutFields(visit.headers, dropped).filter(([name]) => !isSpoken(name.toLowerCase()))
  return [...kept, ...ownHeaders(visit, channel)]
}

/** Request fields for a request whose answer may be stored. What of them came from the visitor is `sent`. */
export function storableHeaders(visit: Visit, channel: Channel): { headers: HeaderPair[]; sent: HeaderPair[] } {
  const dropped = connectionFields(visit.headers)
  dropped.add('host')
  const sent = withoutFields(visit.headers, dropped).filter(([name]) => {
    const lower = name.toLowerCase()
    return !isSpoken(lower) && !personal.has(lower)
  })
  return { headers: [...sent, ...ownHeaders(visit, channel)], sent: sent.filter(([name]) => name.toLowerCase() !== 'via') }
}

function ownHeaders(visit: Visit, channel: Channel): HeaderPair[] {
  const port = /:(\d+)$/.exec(visit.host)?.[1] ?? (channel.scheme === 'https' ? '443' : '80')
  const address = [visit.forwardedFor, visit.remoteAddress].filter(part => part !== null && part !== '').join(', ')
  return [
    ['host', visit.host],
    ['x-forwarded-proto', visit.scheme],
    ['x-forwarded-host', visit.host],
    ['x-forwarded-port', port],
    ...(address === '' ? [] : ([['x-forwarded-for', address]] satisfies HeaderPair[])),
    ['via', `1.1 ${proxyName}`],
  ]
}

/** A request that has come through us before: the shop's address leads back to the daemon. */
export function isLoop(headers: readonly HeaderPair[]): boolean {
  return (fieldValue(headers, 'via') ?? '').split(',').some(hop => hop.trim().split(/\s+/)[1] === proxyName)
}

/** Tags and states are between the shop and its caches (contract section 3). */
const internal = ['xkey', 'surrogate-key', 'cache-tag', 'sw-invalidation-states', 'sw-dynamic-cache-bypass', 'surrogate-control']

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
