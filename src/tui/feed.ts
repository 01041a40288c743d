import type { Given, Schema } from '../operations/operation.ts'

/** State of one polled operation. Times are monotonic milliseconds. */
export interface Feed {
  /** Latest value; null before the first. */
  readonly value: unknown
  /** When the latest value arrived. */
  readonly at: number | null
  /** Why the last poll failed; null when it succeeded. */
  readonly error: string | null
  /** Consecutive failed polls. */
  readonly failures: number
  /** When polling began. */
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
  /** Never set: carries the operation's type to `PlannedValue`. */
  readonly of?: Op
}

/** A live operation that is followed. Each event turns the value so far (null at first) into the next one, at `now` (monotonic milliseconds). */
export interface FollowPlan<Value = unknown> extends FeedPlan {
  fold(value: Value | null, event: unknown, now: number): Value
}

/** The value of a plan: what a polled operation resolves to, or what a followed one has been folded into. */
export type PlannedValue<Plan> =
  Plan extends FollowPlan<infer Value>
    ? Value
    : Plan extends FeedPlan<infer Op>
      ? Awaited<ReturnType<Op['run']>>
      : never

/** Plans to poll an operation: `planFeed<typeof cacheStatistics>('cache.stats', {}, 1000)`. `every`: poll interval, in milliseconds. */
export function planFeed<Op extends Polled>(operation: string, input: Given<Op['input']>, every: number): FeedPlan<Op> {
  return { operation, input: input as object, every }
}

/** Milliseconds between two values of a followed operation. */
const foldedEvery = 250

/** Plans to follow a live operation. */
export function planFollow<Op extends Polled, Value>(
  operation: string,
  input: Given<Op['input']>,
  fold: FollowPlan<Value>['fold'],
): FollowPlan<Value> {
  return { operation, input: input as object, every: foldedEvery, fold }
}

export function isFollowed(plan: FeedPlan): plan is FollowPlan {
  return 'fold' in plan
}

/** Age in milliseconds after which a value is marked STALE, so that operators never mistake an old value for a current one. */
const staleAfter = 3000
/** Longest back-off between two polls of a source that does not answer, in milliseconds. */
const longestPause = 5000

export function newFeed(now: number): Feed {
  return { value: null, at: null, error: null, failures: 0, since: now }
}

export function answered(feed: Feed, value: unknown, now: number): Feed {
  return { ...feed, value, at: now, error: null, failures: 0 }
}

/** Notes a failed poll and keeps the last value; `staleFor` returns its age. */
export function unanswered(feed: Feed, error: string): Feed {
  return { ...feed, error, failures: feed.failures + 1 }
}

/** Age of a stale value, in milliseconds; null while it is fresh. */
export function staleFor(feed: Feed, now: number): number | null {
  const age = now - (feed.at ?? feed.since)
  return age >= staleAfter ? age : null
}

/** Delay until the next poll, in milliseconds. `random`: 0 to 1. */
export function pauseAfter(feed: Feed, every: number, random: number): number {
  if (feed.failures === 0) return every
  const pause = Math.min(longestPause, every * 2 ** feed.failures)
  // Spreads the monitors of one daemon, so that they do not retry at the same moment.
  return pause * (0.75 + random / 2)
}
