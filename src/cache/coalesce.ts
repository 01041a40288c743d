import { LRUCache } from 'lru-cache'
import { SteadyMap } from '../lib/steady-map.ts'
import type { Page } from '../pages/page.ts'
import type { Fence } from '../pages/page-store.ts'
import { digest } from './ledger.ts'
import type { OriginError } from './origin.ts'
import type { Waiters } from './waiters.ts'

/** What keeps visitors from sharing a response: itself, the request that it answers, or that this was a HEAD. */
export type Obstacle = 'response' | 'request' | 'HEAD'

/**
 * The end of a fetch for those who waited for it. `unshareable`: its response is for the visitor who caused it alone. `failed`: the shop
 * gave no response, and need not be asked again. `abandoned`: it was stopped for a reason that does not concern those who wait.
 */
export type Outcome<T> =
  | { kind: 'page'; page: T }
  | { kind: 'unshareable'; obstacle: Obstacle }
  | { kind: 'failed'; error: OriginError }
  | { kind: 'abandoned' }

/** One fetch that several visitors wait for. */
export interface Flight<T> {
  /** Visitors who come after a later invalidation do not join. */
  readonly fence: Fence
  /** Each visitor who joins is added. Null for a fetch that continues without visitors. */
  readonly waiters: Waiters | null
  readonly outcome: Promise<Outcome<T>>
}

/**
 * Coalesces fetches by key. A visitor who arrives after an invalidation does not join a fetch that began before it:
 * that fetch may return the purged page.
 */
export class Flights<T> {
  readonly #flights = new SteadyMap<string, Flight<T>>()
  readonly #holds: (fence: Fence) => boolean

  constructor(holds: (fence: Fence) => boolean) {
    this.#holds = holds
  }

  join(key: string): Flight<T> | null {
    const flight = this.#flights.get(key)
    return flight !== undefined && this.#holds(flight.fence) ? flight : null
  }

  /**
   * Registers a fetch. `settle` releases the waiting visitors and must always be called in the end. `restart`: what was fetched so far
   * is given up, and visitors who come after the new fence may wait too.
   */
  start(
    key: string,
    begun: Fence,
    waiters: Waiters | null,
  ): { restart(fence: Fence): void; settle(outcome: Outcome<T>): void } {
    const { promise, resolve } = Promise.withResolvers<Outcome<T>>()
    const flight = { fence: begun, waiters, outcome: promise }
    this.#flights.set(key, flight)
    return {
      restart: (fence) => {
        flight.fence = fence
        // Another visitor's fetch may have begun, and ended, since the invalidation.
        if (this.join(key) === null) this.#flights.set(key, flight)
      },
      settle: (outcome) => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
        resolve(outcome)
      },
    }
  }

  get size(): number {
    return this.#flights.size
  }
}

/** How long requests for an uncacheable key are not coalesced, in milliseconds. */
const remembered = 120_000
const mostRemembered = 10_000
const longestKey = 1024

/** Keys whose last response could not be shared, so that their visitors do not queue behind each other. */
export class Uncacheable {
  readonly #entries = new LRUCache<string, { until: number; reason: string }>({ max: mostRemembered })

  /** @param forMs how long, in milliseconds */
  add(key: string, reason: string, now: number, forMs = remembered): void {
    if (key.length > longestKey) return
    this.#entries.set(key, { until: now + forMs, reason })
  }

  reason(key: string, now: number): string | null {
    const entry = this.#entries.get(key)
    return entry !== undefined && entry.until > now ? entry.reason : null
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}

/** Pages that the shop no longer allows to be stored. Their old copies are not served while they are renewed. */
export class Refused {
  /** The time of the refusal, by a digest of the key. */
  readonly #times = new LRUCache<string, number>({ max: mostRemembered })

  add(key: string, now: number): void {
    this.#times.set(digest(key), now)
  }

  /** Whether this page is from before the refusal. */
  covers(key: string, { cachedAt }: Pick<Page, 'cachedAt'>): boolean {
    return this.#times.size > 0 && (this.#times.get(digest(key)) ?? -Infinity) >= cachedAt
  }

  delete(key: string): void {
    if (this.#times.size > 0) this.#times.delete(digest(key))
  }
}
