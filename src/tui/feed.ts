import type { Given, Schema } from '../operations/operation.ts'

/** What is known of one operation's value. Times are monotonic milliseconds. */
export interface Feed {
  /** The last value that came; null before the first. */
  readonly value: unknown
  /** When it came. */
  readonly at: number | null
  /** Why the last question was not answered; null where it was. */
  readonly error: string | null
  /** Questions in a row that were not answered. */
  readonly failures: number
  /** When it was first asked. */
  readonly since: number
}

/** What the monitor needs to know of an operation's type. */
interface Polled {
  input: Schema
  run(...args: never[]): Promise<unknown>
}

/** An operation that is polled. */
export interface FeedPlan<Op extends Polled = Polled> {
  readonly operation: string
  readonly input: object
  /** Poll interval, in milliseconds. */
  readonly every: number
  /** Never set: carries the operation's type to `ValueOf`. */
  readonly of?: Op
}

/** The value that a planned operation resolves to. */
export type ValueOf<Plan> = Plan extends FeedPlan<infer Op> ? Awaited<ReturnType<Op['run']>> : never

/** Plans to poll an operation: `planFeed<typeof cacheStatistics>('cache.stats', {}, 1000)`. `every`: poll interval, in milliseconds. */
export function planFeed<Op extends Polled>(operation: string, input: Given<Op['input']>, every: number): FeedPlan<Op> {
  return { operation, input: input as object, every }
}

/** Without news for so long a value is called stale (milliseconds). */
const staleAfter = 3000
/** A source that does not answer is asked less and less often, down to this (milliseconds). */
const longestPause = 5000

export function newFeed(now: number): Feed {
  return { value: null, at: null, error: null, failures: 0, since: now }
}

export function answered(feed: Feed, value: unknown, now: number): Feed {
  return { ...feed, value, at: now, error: null, failures: 0 }
}

/** The last value stays: it is what was known, and `staleFor` says how old it is. */
export function unanswered(feed: Feed, error: string): Feed {
  return { ...feed, error, failures: feed.failures + 1 }
}

/** How long there was no news, in milliseconds; null while the value is good. */
export function staleFor(feed: Feed, now: number): number | null {
  const age = now - (feed.at ?? feed.since)
  return age >= staleAfter ? age : null
}

/** When to ask again after an answer or a failure (milliseconds from now). `random`: 0 to 1. */
export function pauseAfter(feed: Feed, every: number, random: number): number {
  if (feed.failures === 0) return every
  const pause = Math.min(longestPause, every * 2 ** feed.failures)
  // Many monitors on one daemon shall not come back in the same moment.
  return pause * (0.75 + random / 2)
}
