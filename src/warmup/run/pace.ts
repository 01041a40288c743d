/** The configured limits of one origin. Times in milliseconds. */
export interface PaceRules {
  concurrency: number
  requestsPerSecond: number | null
  /** From robots.txt. */
  crawlDelay: number | null
  /** Cap for `Retry-After` and `Crawl-delay`. */
  maxWait: number
}

/** The current pace of requests to an origin. All times are monotonic milliseconds. */
export interface Pace {
  /**
   * Concurrent requests to which the origin is throttled, 1 or more, rounded down when applied; Infinity when it is not. It may exceed the
   * configured concurrency, which was lowered since.
   */
  limit: number
  /** No request starts before this time. */
  notBefore: number
  /** Mean latency of the origin while it is not throttled; null before the first response. */
  usual: number | null
  /** How many responses it comes from, and when the last of them arrived. */
  answers: number
  answeredAt: number
  /** Smoothed current latency; null before the first response. */
  present: number | null
  /** Consecutive times that refusals (429, 5xx, no response) lowered the limit. */
  refusals: number
  /** Smoothed share of refusals among the results of first attempts, 0 to 1. */
  refused: number
  /** Why the limit was lowered; null once the origin is no longer throttled. */
  reason: PaceReason | null
  /** Whether `notBefore` comes from a `Retry-After`. */
  isRetryAfter: boolean
  /**
   * Whether `notBefore` comes from pages that failed without a request to slow down, and no other page has been requested since: if the
   * origin answers one that was well before, those pages fail by their own fault.
   */
  isInDoubt: boolean
  /** When the limit was last lowered. */
  loweredAt: number
}

type PaceReason = '429' | '503' | 'errors' | 'latency'

/** What one response says about the load of the origin. */
export type PaceSample =
  | { kind: 'answered'; ms: number }
  /** `status`: null for another server error, or no response. `repeated`: the same page has failed before. */
  | { kind: 'too-much'; status: 429 | 503 | null; retryAfter: number | null; repeated: boolean }

/**
 * Weight of one answer in the share of refusals, and the share from which the origin counts as overloaded. Every tenth
 * page may fail by its own fault; seven refusals in a row reach the share.
 */
const refusalWeight = 0.05
const overload = 0.3
const firstPause = 500
const maxPause = 30_000
/** Milliseconds: bad responses to requests that were in flight together lower the limit only once. */
const minLoweringInterval = 1000
/** Latency counts as high when it exceeds the usual one by this factor and by this many milliseconds. */
const slowFactor = 3
const slowMargin = 200
/** Weight of one response in the present latency. */
const presentWeight = 0.1
/** How many responses have to arrive before latency counts as high. */
const fewestAnswers = 10
/** Milliseconds after which the usual latency has largely forgotten a response. */
const usualMemory = 300_000

/** The initial pace. @param saved the pace that a previous process left; null for an unknown origin */
export function startPace(saved: { limit: number; notBefore: number } | null = null): Pace {
  return {
    limit: Math.max(1, saved?.limit ?? Infinity),
    notBefore: saved?.notBefore ?? -Infinity,
    usual: null,
    answers: 0,
    answeredAt: 0,
    present: null,
    refusals: 0,
    refused: 0,
    reason: null,
    isRetryAfter: false,
    isInDoubt: false,
    loweredAt: -Infinity,
  }
}

/**
 * Slows down if the origin refuses requests, fails or becomes slow; otherwise allows one more request per round. A few
 * 5xx answers, timeouts and broken connections are the fault of their pages, which are retried later: only a larger share
 * of them slows down, and more the larger it is. 429 and `Retry-After` are obeyed at once (docs/warmup.md, Speed).
 */
export function afterAnswer(pace: Pace, sample: PaceSample, now: number, rules: PaceRules): Pace {
  if (sample.kind === 'too-much') return afterRefusal(pace, sample, now, rules)
  const present = smooth(pace.present, sample.ms, presentWeight)
  const usual = smooth(pace.usual, sample.ms, usualWeight(pace, now))
  const refused = pace.refused * (1 - refusalWeight)
  const answers = pace.answers + 1
  const answered: Pace = { ...pace, present, usual, answers, answeredAt: now, refused, refusals: 0 }
  if (answers > fewestAnswers && present > usual * slowFactor && present > usual + slowMargin)
    return lowered(answered, 0.75, now, 'latency', rules)
  // Answers at a lower concurrency than the limit do not show that the origin can take more.
  if (refused >= overload || pace.limit >= rules.concurrency) return answered
  const limit = pace.limit + 1 / pace.limit
  return limit < rules.concurrency ? { ...answered, limit } : { ...answered, limit: Infinity, reason: null }
}

/**
 * Ends the doubt about an origin after a request for a page that was well before. Where it was answered, the pause ends and counting begins
 * anew; the limit rises with further answers. @param sample of that request; null if it says nothing
 */
export function afterProbe(doubtful: Pace, sample: PaceSample | null, now: number, rules: PaceRules): Pace {
  const pace = { ...(sample === null ? doubtful : afterAnswer(doubtful, sample, now, rules)), isInDoubt: false }
  // Another response may have asked for a pause meanwhile.
  const isOver = doubtful.isInDoubt && sample?.kind === 'answered'
  return isOver ? { ...pace, refused: 0, notBefore: -Infinity } : pace
}

/**
 * Weight of a response in the usual latency: a mean over some minutes, since fast and slow pages alternate. An origin that is throttled for
 * its latency teaches nothing about that without our load, except at one request at a time, where a high latency is its own.
 */
function usualWeight({ answers, answeredAt, reason, limit }: Pace, now: number): number {
  if (reason === 'latency') return limit < 2 ? presentWeight : 0
  return Math.max(1 / (answers + 1), 1 - Math.exp((answeredAt - now) / usualMemory))
}

/** Concurrent requests that may be made now. */
export function concurrencyOf({ limit }: Pace, { concurrency }: PaceRules): number {
  return Math.floor(Math.min(limit, concurrency))
}

/** Milliseconds between the starts of two requests. */
export function startInterval(rules: PaceRules): number {
  const rate = rules.requestsPerSecond === null ? 0 : 1000 / rules.requestsPerSecond
  return Math.max(rate, Math.min(rules.crawlDelay ?? 0, rules.maxWait))
}

function afterRefusal(
  before: Pace,
  { status, retryAfter, repeated }: Extract<PaceSample, { kind: 'too-much' }>,
  now: number,
  rules: PaceRules,
): Pace {
  const isExplicit = status === 429 || retryAfter !== null
  // A page that fails again says nothing new, unless the whole origin refuses.
  if (!isExplicit && repeated && before.refusals === 0) return before
  const pace = { ...before, refused: smooth(before.refused, 1, refusalWeight) }
  if (!isExplicit && pace.refused < overload) return pace
  const severity = isExplicit ? 1 : pace.refused
  const backoff = Math.min(maxPause, firstPause * severity * 2 ** pace.refusals)
  const until = now + (retryAfter === null ? backoff : Math.min(retryAfter, rules.maxWait))
  const refused = {
    ...pace,
    reason: status === null ? ('errors' as const) : (`${status}` as const),
    ...(until > pace.notBefore && { notBefore: until, isRetryAfter: retryAfter !== null }),
    ...(isExplicit && { isInDoubt: false }),
  }
  // Responses to requests that were in flight together count as one refusal.
  if (now - pace.loweredAt < minLoweringInterval) return refused
  const refusals = pace.refusals + 1
  return {
    ...lowered(refused, 1 - severity / 2, now, refused.reason, rules),
    refusals,
    isInDoubt: !isExplicit && !refused.isRetryAfter,
  }
}

function lowered(pace: Pace, factor: number, now: number, reason: PaceReason, { concurrency }: PaceRules): Pace {
  if (now - pace.loweredAt < minLoweringInterval) return pace
  return { ...pace, limit: Math.max(1, Math.min(pace.limit, concurrency) * factor), reason, loweredAt: now }
}

function smooth(before: number | null, value: number, weight: number): number {
  return before === null ? value : before + (value - before) * weight
}
