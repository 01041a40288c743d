import type { Clock } from '../lib/clock.ts'
import type { HeaderPair } from '../pages/page.ts'
import { directivesOf } from './cache-control.ts'
import type { Fetched } from './fetched.ts'
import { fieldValue, hasField } from './fields.ts'
import { lifetimesOf } from './freshness.ts'

/** Pages without a lifetime in a row after which the operator is told. */
const enough = 5

/** A lifetime by heuristic below this, in seconds, gives hardly any visitor a hit. */
const tooShort = 10

/** What an operator reads about a shop that names no lifetimes. */
export const lifetimeAdvice = {
  message:
    'The shop names no lifetime for its pages (Cache-Control with max-age or s-maxage, or Expires), so visitors do not get them from the cache.',
  remedy: 'If its pages may be cached, set cache.defaultTtl, or start the daemon with: pagecache serve --ttl 10m',
}

/** Whether an HTML page is not served from the cache only because the shop names no lifetime for it. `defaultTtl`: in seconds. */
export function lacksLifetime(
  status: number,
  headers: readonly HeaderPair[],
  { defaultTtl, now }: { defaultTtl: number; now: number },
): boolean {
  if (status !== 200 || !/^text\/html\b/i.test(fieldValue(headers, 'content-type') ?? '')) return false
  const { noStore, noCache, private: isPrivate, maxAge, sMaxage, targeted } = directivesOf(headers)
  if (noStore || noCache || isPrivate || maxAge !== null || sMaxage !== null) return false
  if ((!targeted && hasField(headers, 'expires')) || hasField(headers, 'set-cookie')) return false
  return (
    lifetimesOf({ status, headers, requestedAt: now, receivedAt: now }, { defaultTtl, grace: 0 }).lifetime < tooShort
  )
}

interface LifetimeOptions {
  defaultTtl: number
  now: Clock
  onError(message: string, error: unknown): void
}

/** Notices by its first pages that a shop names no lifetimes, and reports it once. */
export class LifetimeWatch {
  readonly #options: LifetimeOptions
  /** Pages without a lifetime so far; null once it is known whether the shop names any. */
  #lacking: number | null = 0

  constructor(options: LifetimeOptions) {
    this.#options = options
  }

  note(fetched: Fetched): void {
    if (this.#lacking === null || fetched.status !== 200) return
    const headers = fetched.kind === 'stream' ? fetched.headers : fetched.held.page.headers
    const { defaultTtl, now, onError } = this.#options
    const { maxAge, sMaxage } = directivesOf(headers)
    if (lacksLifetime(200, headers, { defaultTtl, now: now() })) this.#lacking += 1
    else if (maxAge !== null || sMaxage !== null) this.#lacking = null
    if (this.#lacking !== enough) return
    this.#lacking = null
    onError(`${lifetimeAdvice.message} ${lifetimeAdvice.remedy}`, null)
  }
}
