import type { Allowance } from './esi/allowance.ts'
import { cookieBypass, disguisedCookie, isEmptyFor } from './bypass.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './channels.ts'
import type { Confirmations } from './confirmations.ts'
import { fieldValue, hasField } from './fields.ts'
import { canonicalUrl, primaryKey, shopwareVariants, unconfirmedKey, type VariantRules } from './key.ts'
import type { RequestTraits } from './may-store.ts'
import { reduced, searchMark, type SearchRule, type SearchRules } from './no-vary-search.ts'
import type { Canonicaliser, Target } from './target.ts'
import { cookiesOf, traitsOf, type Traits } from './traits.ts'
import type { Visit, VisitHead } from './visit.ts'

/** A request that the cache may answer: the keys it is looked up by and the fields that select a stored page. */
export interface Lookup extends Omit<Traits, 'overrides'>, RequestTraits {
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
  /** The rule by which the target lacks parameters of the request; null: it is the request's own. */
  search: SearchRule | null
  /** Below `cache.assets`: no cookies in either direction. */
  isAsset: boolean
  /** Whether browsers, and caches in front of the daemon, must not store the response. */
  isHidden: boolean
  /** Whether an operator and not a visitor chose the variants. */
  trusted: boolean
  /** The pages around a fragment; absent for a page that a visitor requested. */
  within?: Nesting
}

/** The pages around a fragment, and what they allow it. */
export interface Nesting {
  /** 1 for a fragment of a page that a visitor requested. */
  depth: number
  /** The URLs of the pages around it. */
  urls: readonly string[]
  /** What the page that the visitor requested may still take. */
  allowance: Allowance
}

export type Classified =
  | { kind: 'unknown-site' }
  /** The daemon's own endpoint, which is never forwarded or cached. `channel`: null when no channel has the site. */
  | { kind: 'own'; channel: Channel | null; target: Target; url: string }
  | { kind: 'pass'; channel: Channel; target: Target; url: string; reason: string; isAsset: boolean }
  /** Answered with 204 (`cache.emptyPaths`). */
  | { kind: 'empty'; channel: Channel; target: Target; url: string }
  | { kind: 'lookup'; lookup: Lookup }

export interface ClassifyOptions {
  channels: Channels
  canonical: Canonicaliser
  variants: VariantRules
  confirmations: Confirmations
  bypassCookies: readonly string[]
  /** These take canonical paths relative to the channel's URL. */
  bypassPath(path: string): boolean
  emptyPath(path: string): boolean
  assetPath(path: string): boolean
  hiddenPath(path: string): boolean
  /** Null: every URL is looked up by itself. */
  search: SearchRules | null
}

/**
 * Decides how a request is handled: rejected, answered by the daemon itself, passed through, or looked up in the cache.
 *
 * @param trusted whether an operator and not a visitor chose the variants
 */
export function classify(sent: Visit, options: ClassifyOptions, trusted = false): Classified {
  const visit = options.variants.classes.classified(sent, trusted)
  return classifyRouted(visit, routeOf(visit, options), options, trusted)
}

/** `classify` for a request whose route is known. */
export function classifyRouted(
  classified: Visit,
  found: Routed,
  options: ClassifyOptions,
  trusted = false,
): Classified {
  if (found.kind !== 'cacheable') return found
  const { channel, cookies, isAsset } = found
  const visit = isAsset ? options.variants.classes.withoutCookies(classified) : classified
  const search = options.search?.get(channel, found.target) ?? null
  const target = search === null ? found.target : reduced(found.target, search)
  const url = search === null ? found.url : canonicalUrl(channel, target)
  const rules = options.variants
  const make = () => traitsOf(visit, channel, cookies, rules)
  const traits = isAsset ? make() : (visit.memo?.of('traits', [visit.headers, channel, rules], make) ?? make())
  const key = primaryKey(channel, url, rules, cookies, traits.field)
  if (key === null)
    return { kind: 'pass', channel, target, url, isAsset, reason: 'a variant cookie or header is too long' }
  const sharedKey = `${key}${searchMark(search)}`
  const confirmed = trusted || options.confirmations.covers(traits.visitor)
  return {
    kind: 'lookup',
    lookup: {
      ...traits,
      visit,
      channel,
      target,
      url,
      key: confirmed ? sharedKey : unconfirmedKey(sharedKey, options.confirmations.ownCookies(cookies)),
      sharedKey,
      search,
      isAsset,
      isHidden: options.hiddenPath(pathBelow(channel, target)),
      odd: visit.body !== null || traits.overrides,
      trusted,
    },
  }
}

/** Decides whether a request may be looked up, without looking at what selects a page. */
export function routeOf(visit: VisitHead, options: ClassifyOptions): Routed {
  const target = options.canonical(visit.target)
  const channel = options.channels.find(visit.scheme, visit.host, target.path)
  if (options.channels.ownPath(visit.scheme, visit.host, target.path) !== null) {
    return { kind: 'own', channel, target, url: canonicalUrl(channel ?? visit, target) }
  }
  if (channel === null) return { kind: 'unknown-site' }
  const url = canonicalUrl(channel, target)
  const path = pathBelow(channel, target)
  const isRead = visit.method === 'GET' || visit.method === 'HEAD'
  const isAsset = isRead && options.assetPath(path)
  const cookies = isAsset ? noCookies : cookiesIn(visit)
  if (isRead && target.query === '' && options.emptyPath(path) && isEmptyRequest(visit, cookies, options))
    return { kind: 'empty', channel, target, url }
  const reason = passReason(visit, path, cookies, options)
  return reason === null
    ? { kind: 'cacheable', channel, target, url, cookies, isAsset }
    : { kind: 'pass', channel, target, url, reason, isAsset }
}

const noCookies: ReadonlyMap<string, string> = new Map()

function cookiesIn({ headers, memo }: VisitHead): ReadonlyMap<string, string> {
  return memo?.of('cookies', [headers], () => cookiesOf(headers)) ?? cookiesOf(headers)
}

/** The path of a target, relative to the URL of its channel. */
export function pathBelow(channel: Channel, target: Target): string {
  return target.path.slice(channel.path.length) || '/'
}

function isEmptyRequest(visit: VisitHead, cookies: ReadonlyMap<string, string>, options: ClassifyOptions): boolean {
  return isEmptyFor(cookies, options) && !hasField(visit.headers, 'authorization') && !hasPrecondition(visit)
}

/** Where a request goes. */
export type Routed = Exclude<Classified, { kind: 'lookup' }> | Cacheable

/** A request and where it goes. */
export interface RoutedVisit<V extends VisitHead> {
  /** With the visitor's classes. */
  visit: V
  found: Routed
}

/** A request for a page that may be cached. */
interface Cacheable {
  kind: 'cacheable'
  channel: Channel
  target: Target
  url: string
  cookies: ReadonlyMap<string, string>
  isAsset: boolean
}

function passReason(
  visit: VisitHead,
  path: string,
  cookies: ReadonlyMap<string, string>,
  options: ClassifyOptions,
): string | null {
  if (visit.method !== 'GET' && visit.method !== 'HEAD') return `method ${visit.method}`
  if (options.bypassPath(path)) return 'a path that is never cached'
  const bypass = { cookies: options.bypassCookies }
  const cookie = cookieBypass(cookies, bypass) ?? disguisedCookie(cookies, options.variants, bypass)
  if (cookie !== null) return `cookie ${cookie}`
  const hash = cookies.get(shopwareVariants.hash)
  const field = fieldValue(visit.headers, shopwareVariants.hash)
  if (hash && field && (hash !== field || !/^[\w.-]+$/.test(field)))
    return `a field ${shopwareVariants.hash} that is malformed or differs from the cookie`
  return hasPrecondition(visit) ? 'a precondition for the origin' : null
}

function hasPrecondition({ headers }: VisitHead): boolean {
  return hasField(headers, 'if-match') || hasField(headers, 'if-unmodified-since')
}

/** The same look-up for a fetch in the background, which does not end when the visitor leaves. @param isWhole whether the whole page is fetched, whatever range the visitor wants */
export function withoutVisitor(lookup: Lookup, isWhole: boolean): Lookup {
  return {
    ...lookup,
    visit: { ...lookup.visit, method: 'GET', signal: new AbortController().signal, onInterim: () => {} },
    field: (name) => (isWhole && (name === 'range' || name === 'if-range') ? null : lookup.field(name)),
  }
}
