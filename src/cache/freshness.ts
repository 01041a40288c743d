import { parseHttpDate } from '../lib/http-date.ts'
import type { HeaderPair, PageDraft } from '../pages/page.ts'
import { directivesOf, type Directives } from './cache-control.ts'
import { fieldLines, fieldValue, hasField } from './fields.ts'

export interface Received {
  status: number
  headers: readonly HeaderPair[]
  /** When the request was sent and when the response head arrived, in milliseconds since the epoch. */
  requestedAt: number
  receivedAt: number
}

/** The freshness values of a page (RFC 9111 §4.2, RFC 5861). */
export type Lifetimes = Pick<
  PageDraft,
  | 'cachedAt'
  | 'initialAge'
  | 'lifetime'
  | 'staleWhileRevalidate'
  | 'staleIfError'
  | 'staleAllowed'
  | 'noCache'
  | 'staleAt'
  | 'deleteAt'
>

/** Statuses that are cacheable by heuristic (RFC 9110 §15.1). */
const heuristic = new Set([200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501])

/** A heuristic lifetime is a tenth of the time since the last change (RFC 9111 §4.2.2), at most a day. */
const heuristicShare = 0.1
const longestHeuristic = 86_400

/** How long a stale page is kept when it can be validated or served while the origin is unreachable, in seconds. */
const usefulWhenStale = 7 * 86_400

/** In seconds. */
export interface LifetimeRules {
  /** Lifetime when the response specifies none; 0 leaves it to the heuristic. */
  defaultTtl: number
  /** How long a stale page may be served although the response does not say so. */
  grace: number
}

/** Computes the freshness values of a response. */
export function lifetimesOf(response: Received, { defaultTtl, grace }: LifetimeRules): Lifetimes {
  const directives = directivesOf(response.headers)
  const initialAge = correctedAge(response)
  const lifetime = freshnessLifetime(response, directives, defaultTtl)
  const mustValidate = directives.mustRevalidate || directives.proxyRevalidate || directives.noCache
  // s-maxage forbids stale responses too, except those that the origin allows explicitly
  // (docs/decisions/0009-stale-with-s-maxage.md).
  const staleAllowed = !mustValidate && directives.sMaxage === null
  const staleAt = response.receivedAt + (lifetime - initialAge) * 1000
  const validator = hasField(response.headers, 'etag') || hasField(response.headers, 'last-modified')
  // A response without a lifetime is not meant to be reused, and an error must not outlive its own.
  const granted = lifetime > 0 && response.status < 500 ? grace : 0
  const staleWhileRevalidate = mustValidate ? 0 : Math.max(directives.staleWhileRevalidate, granted)
  const staleIfError = mustValidate ? 0 : Math.max(directives.staleIfError, granted)
  const kept = Math.max(staleWhileRevalidate, staleIfError, validator || staleAllowed ? usefulWhenStale : 0)
  return {
    cachedAt: response.receivedAt,
    initialAge,
    lifetime,
    staleWhileRevalidate,
    staleIfError,
    staleAllowed,
    noCache: directives.noCache,
    staleAt,
    deleteAt: Math.max(staleAt, response.receivedAt) + kept * 1000,
  }
}

/** The freshness lifetime in seconds, in the order of RFC 9111 §4.2.1. */
function freshnessLifetime(response: Received, directives: Directives, defaultTtl: number): number {
  if (directives.sMaxage !== null) return directives.sMaxage
  if (directives.maxAge !== null) return directives.maxAge
  if (!directives.targeted && hasField(response.headers, 'expires')) {
    const expires = parseHttpDate(fieldValue(response.headers, 'expires')!, response.receivedAt)
    return expires === null ? 0 : Math.max(0, (expires - dateOf(response)) / 1000)
  }
  if (!heuristic.has(response.status) && !directives.public) return 0
  const modified = parseHttpDate(fieldValue(response.headers, 'last-modified') ?? '', response.receivedAt)
  if (modified !== null) {
    const unchanged = Math.max(0, (dateOf(response) - modified) / 1000)
    return Math.max(defaultTtl, Math.min(unchanged * heuristicShare, longestHeuristic))
  }
  return defaultTtl
}

/** Whether a response of this status may be stored without explicit freshness (RFC 9111 §3). */
export function mayBeAssumedStorable(status: number): boolean {
  return heuristic.has(status)
}

/** The Date of a response; the time of receipt when it is missing or invalid (RFC 9110 §6.6.1). */
export function dateOf(response: Received): number {
  return parseHttpDate(fieldValue(response.headers, 'date') ?? '', response.receivedAt) ?? response.receivedAt
}

/** The corrected initial age in seconds (RFC 9111 §4.2.3). */
function correctedAge(response: Received): number {
  const apparent = Math.max(0, (response.receivedAt - dateOf(response)) / 1000)
  const delay = (response.receivedAt - response.requestedAt) / 1000
  // Date counts whole seconds: a difference below one second is rounding, not age.
  return Math.max(apparent < 1 ? 0 : apparent, ageOf(response.headers) + delay)
}

/** The Age of a response in seconds. The first of several values counts; an invalid one is ignored (RFC 9111 §5.1). */
function ageOf(headers: readonly HeaderPair[]): number {
  const first = (fieldLines(headers, 'age')[0] ?? '').split(',')[0]!.trim()
  return /^\d+$/.test(first) ? Math.min(Number(first), 2 ** 31) : 0
}

/** The current age of a page, in seconds. */
export function ageAt(page: Pick<PageDraft, 'initialAge' | 'cachedAt'>, now: number): number {
  return page.initialAge + Math.max(0, now - page.cachedAt) / 1000
}

/**
 * The Age to send with a page, in seconds. That of a stale page is at least its lifetime, also after a soft purge: otherwise the next
 * cache on the way would store it as fresh.
 */
export function sentAge(page: PageDraft, now: number): number {
  const age = ageAt(page, now)
  return Math.floor(now < page.staleAt ? age : Math.max(age, page.lifetime + (now - page.staleAt) / 1000))
}

export type Freshness = 'fresh' | 'stale-while-revalidate' | 'stale'

/** How a page may be used without contacting the origin. */
export function usability(page: PageDraft, now: number): Freshness {
  if (page.noCache) return 'stale'
  if (now < page.staleAt) return 'fresh'
  return now < page.staleAt + page.staleWhileRevalidate * 1000 ? 'stale-while-revalidate' : 'stale'
}

/** Statuses that a stale page may replace (RFC 5861 §4). */
export const serverErrors: ReadonlySet<number> = new Set([500, 502, 503, 504])

export type StaleReason = 'unreachable' | 'error'

/** Whether a stale page may replace a failed fetch (RFC 9111 §4.2.4, RFC 5861 §4). */
export function mayServeStale(page: PageDraft, reason: StaleReason, now: number): boolean {
  if (page.noCache) return false
  if (now < page.staleAt + page.staleIfError * 1000) return true
  return reason === 'unreachable' && page.staleAllowed && now < page.deleteAt
}
