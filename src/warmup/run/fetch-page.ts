import type { Clock } from '../../lib/clock.ts'
import { TimeLimit } from '../../lib/time-limit.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { classifyUrl } from '../../cache/classify-url.ts'
import { discard } from '../../cache/body.ts'
import { invalidated, mayStoreLater, type Fetched } from '../../cache/fetched.ts'
import { fieldValue } from '../../cache/fields.ts'
import { usability } from '../../cache/freshness.ts'
import { OriginError } from '../../cache/origin.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import type { Lookup } from '../../cache/lookup.ts'
import type { Slot } from '../../cache/origin/slots.ts'
import type { HeldPage } from '../../cache/view.ts'
import { parseRetryAfter } from './retry-after.ts'
import type { FetchPage, WarmResult } from './warm-result.ts'

/**
 * A browser's request headers, so that a shop that varies on them responds as it does to visitors, and pages are kept in the coding that
 * visitors get. No cookie.
 */
const usualHeaders: Readonly<Record<string, string>> = {
  'user-agent': 'pagecache-warmup',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-encoding': 'gzip, deflate, br, zstd',
}

/**
 * Makes the function that fetches pages through the cache, with the bypass rules, key, store and coalescing of a visitor's request
 * (ARCHITECTURE.md: a warmed page and a visited page come out of the same code).
 *
 * @param timeout milliseconds per page
 */
export function toFetchPage(cache: StorefrontCache, now: Clock, timeout: number): FetchPage {
  return async (url, options) => {
    const classified = classifyUrl(url, { ...usualHeaders, ...options.headers }, options.signal, cache.classifying)
    if (classified === null) return { kind: 'not-stored', status: null, ms: 0, reason: 'belongs to no sales channel' }
    if (classified.kind === 'own')
      return { kind: 'not-stored', status: null, ms: 0, reason: 'is an endpoint of the daemon itself' }
    if (classified.kind === 'empty')
      return { kind: 'not-stored', status: null, ms: 0, reason: 'is answered without the shop (cache.emptyPaths)' }
    if (classified.kind === 'pass') return { kind: 'not-stored', status: null, ms: 0, reason: classified.reason }
    const held = options.force ? null : findFresh(cache, classified.lookup, now)
    if (held !== null) return toFound(held)
    // Waiting for visitors is no fault of the page.
    const slot = await roomOf(cache, classified.lookup, options.stop)
    if (slot === null) return null
    const started = performance.now()
    const limit = new TimeLimit(timeout, options.signal)
    try {
      if (!options.mayStart()) return null
      const fetched = await cache.warm(classified.lookup, limit.signal, slot, options.force)
      return fetched === null
        ? toFound(cache.find(classified.lookup))
        : toResult(fetched, performance.now() - started, now())
    } catch (error) {
      if (!(error instanceof OriginError)) throw error
      const message = limit.isLate ? `no complete response within ${timeout / 1000} s` : error.message
      return { kind: 'failed', status: null, error: message, retryAfter: null, ms: performance.now() - started }
    } finally {
      limit.end()
      // The pacer has to know this result before the next page is admitted.
      setImmediate(() => slot.leave())
    }
  }
}

/** Null when the signal is aborted first. */
function roomOf(cache: StorefrontCache, lookup: Lookup, signal: AbortSignal): Promise<Slot | null> {
  return cache.origin.room(lookup.channel.origin, signal).catch((error: unknown) => {
    if (error instanceof OriginError) return null
    throw error
  })
}

/** Whether every variant of a page is fresh, so that a warmup would skip it. `passes`: see `toPasses`. */
export async function isFresh(
  cache: StorefrontCache,
  now: Clock,
  url: string,
  passes: readonly Readonly<Record<string, string>>[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const headers of passes) {
    const classified = classifyUrl(url, { ...usualHeaders, ...headers }, signal, cache.classifying)
    if (classified?.kind !== 'lookup' || findFresh(cache, classified.lookup, now) === null) return false
  }
  return true
}

function findFresh(cache: StorefrontCache, lookup: Lookup, now: Clock): HeldPage | null {
  const held = cache.find(lookup)
  const isFresh = held !== null && usability(held.page, now()) === 'fresh' && !cache.lacksFragments(lookup, held)
  return isFresh ? held : null
}

/** The result for a page that others have fetched. A cached error is a failure. Null: a purge has just removed the page. */
function toFound(held: HeldPage | null): WarmResult {
  const status = held?.page.status ?? 200
  return status < 400 ? { kind: 'fresh' } : { kind: 'stored', status, ms: 0 }
}

function toResult(fetched: Fetched, ms: number, now: number): WarmResult {
  const { status, notStored } = fetched
  const headers: readonly HeaderPair[] = fetched.kind === 'stream' ? fetched.headers : fetched.live
  if (fetched.kind === 'stream') discard(fetched.body)
  // A revalidated page has status 304 here.
  if (status >= 400)
    return {
      kind: 'failed',
      status,
      error: `answered ${status}`,
      retryAfter: parseRetryAfter(fieldValue(headers, 'retry-after'), now),
      ms,
    }
  if (notStored === null) return { kind: 'stored', status, ms }
  const refused = { kind: 'not-stored', status, ms, reason: notStored } as const
  return mayStoreLater(notStored) ? { ...refused, transient: notStored === invalidated ? 'purge' : 'cache' } : refused
}
