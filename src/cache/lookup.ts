import type { HeaderPair } from '../pages/page.ts'
import { clientStates, cookieBypass } from './bypass.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './channels.ts'
import { requestDirectives } from './cache-control.ts'
import type { Confirmations, Visitor } from './confirmations.ts'
import { cookieHeader, hasField, parseCookies } from './fields.ts'
import { methodOverrides } from './forward.ts'
import {
  canonicalUrl,
  isScript,
  primaryKey,
  scriptField,
  unconfirmedKey,
  unkeyedCookies,
  type VariantRules,
} from './key.ts'
import type { RequestTraits } from './may-store.ts'
import type { Canonicaliser, Target } from './target.ts'
import type { SelectingFields } from './vary.ts'
import type { Visit, VisitHead } from './visit.ts'

/** A request that the cache may answer: the keys it is looked up by and the fields that select a stored page. */
export interface Lookup extends SelectingFields, RequestTraits {
  visit: Visit
  channel: Channel
  target: Target
  url: string
  /** The key under which the response is stored. */
  key: string
  /**
   * The key of the page that all visitors with these variants share; equal to `key` when the shop has confirmed the
   * visitor's variant.
   */
  sharedKey: string
  visitor: Visitor
  /** The variant cookies by name; empty strings where the request has none. */
  variantCookies: ReadonlyMap<string, string>
  /** False when a stored page must not be served (Authorization), although the response may be stored. */
  mayReuse: boolean
  onlyIfCached: boolean
}

export type Classified =
  | { kind: 'unknown-site' }
  /** The daemon's own endpoint, which is never forwarded or cached. `channel`: null when no channel has the site. */
  | { kind: 'own'; channel: Channel | null; target: Target; url: string }
  | { kind: 'pass'; channel: Channel; target: Target; url: string; reason: string }
  | { kind: 'lookup'; lookup: Lookup }

export interface ClassifyOptions {
  channels: Channels
  canonical: Canonicaliser
  variants: VariantRules
  confirmations: Confirmations
  bypassCookies: readonly string[]
  bypassPath(path: string): boolean
}

/**
 * Decides how a request is handled: rejected, answered by the daemon itself, passed through, or looked up in the cache.
 *
 * @param trusted whether an operator and not a visitor chose the variants
 */
export function classify(visit: Visit, options: ClassifyOptions, trusted = false): Classified {
  const found = routeOf(visit, options)
  if (found.kind !== 'cacheable') return found
  const { channel, target, url, cookies } = found
  const field = fieldReader(visit.headers)
  const sharedKey = primaryKey(channel, url, options.variants, cookies, field)
  if (sharedKey === null)
    return { kind: 'pass', channel, target, url, reason: 'a variant cookie or header is too long' }
  const directives = requestDirectives(visit.headers)
  const visitor = { channelId: channel.id, cookies }
  const confirmed = trusted || options.confirmations.covers(visitor)
  return {
    kind: 'lookup',
    lookup: {
      visit,
      channel,
      target,
      url,
      key: confirmed ? sharedKey : unconfirmedKey(sharedKey, options.confirmations.ownCookies(cookies)),
      sharedKey,
      visitor,
      field,
      headers: visit.headers,
      keyedFields: [
        ...options.variants.headers.map((name) => name.toLowerCase()),
        ...(isScript(field) ? [scriptField] : []),
      ],
      site: `${channel.scheme}://${channel.host}`,
      variantCookies: new Map(options.variants.cookies.map((name) => [name, cookies.get(name) ?? ''])),
      unkeyedCookies: unkeyedCookies(cookies, options.variants.cookies),
      states: clientStates(cookies),
      odd: visit.body !== null || visit.headers.some(([name]) => methodOverrides.has(name.toLowerCase())),
      mayReuse: !hasField(visit.headers, 'authorization'),
      onlyIfCached: directives.onlyIfCached,
    },
  }
}

/** Decides whether a request may be looked up, without looking at what selects a page. */
export function routeOf(
  visit: VisitHead,
  options: ClassifyOptions,
): Exclude<Classified, { kind: 'lookup' }> | Cacheable {
  const target = options.canonical(visit.target)
  const channel = options.channels.find(visit.scheme, visit.host, target.path)
  if (options.channels.ownPath(visit.scheme, visit.host, target.path) !== null) {
    return { kind: 'own', channel, target, url: canonicalUrl(channel ?? visit, target) }
  }
  if (channel === null) return { kind: 'unknown-site' }
  const url = canonicalUrl(channel, target)
  const cookies = parseCookies(cookieHeader(visit.headers))
  const reason = passReason(visit, target.path.slice(channel.path.length) || '/', cookies, options)
  return reason === null
    ? { kind: 'cacheable', channel, target, url, cookies }
    : { kind: 'pass', channel, target, url, reason }
}

/** A request for a page that may be cached. */
interface Cacheable {
  kind: 'cacheable'
  channel: Channel
  target: Target
  url: string
  cookies: ReadonlyMap<string, string>
}

function passReason(
  visit: VisitHead,
  path: string,
  cookies: ReadonlyMap<string, string>,
  options: ClassifyOptions,
): string | null {
  if (visit.method !== 'GET' && visit.method !== 'HEAD') return `method ${visit.method}`
  if (options.bypassPath(path)) return 'a path that is never cached'
  const cookie = cookieBypass(cookies, { cookies: options.bypassCookies })
  if (cookie !== null) return `cookie ${cookie}`
  return hasField(visit.headers, 'if-match') || hasField(visit.headers, 'if-unmodified-since')
    ? 'a precondition for the origin'
    : null
}

/** Reads request fields by lower-case name, lines combined. Indexed at the first read. */
function fieldReader(headers: readonly HeaderPair[]): (name: string) => string | null {
  let fields: Map<string, string> | null = null
  return (name) => {
    if (fields === null) {
      fields = new Map()
      for (const [key, value] of headers) {
        const lower = key.toLowerCase()
        const before = fields.get(lower)
        fields.set(lower, before === undefined ? value : `${before}, ${value}`)
      }
    }
    return fields.get(name) ?? null
  }
}
