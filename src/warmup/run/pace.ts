/** What one origin is asked for at most. Times in milliseconds. */
export interface PaceRules {
  concurrency: number
  requestsPerSecond: number | null
  /** From robots.txt. */
  crawlDelay: number | null
  /** The longest that a `Retry-After` or a `Crawl-delay` is obeyed. */
  longestWait: number
}

/** How fast an origin is asked right now. `now` is a monotonic time throughout. */
export interface Pace {
  /** Requests at once, between 1 and the configured concurrency; whole ones count. */
  limit: number
  /** The origin asked for a pause until then. */
  notBefore: number
  /** Usual and present latency; null before the first answer. */
  usual: number | null
  present: number | null
  /** Answers in a row that said "too much". */
  refusals: number
  /** Why the limit was lowered; null once it is what was configured. */
  reason: PaceReason | null
  /** Whether `notBefore` is what the origin named in a `Retry-After`. */
  named: boolean
  /** When the limit was lowered last: one burst of bad answers is one sign, not several. */
  loweredAt: number
}

type PaceReason = '429' | '503' | 'latency'

/** One answer, as the pace sees it. */
export type PaceSample =
  | { kind: 'answered'; ms: number }
  | { kind: 'too-much'; status: 429 | 503; retryAfter: number | null }

const firstPause = 500
const longestPause = 30_000
/** A burst of answers to requests that were under way together lowers the limit once. */
const lowerAtMostEvery = 1000
/** Latency counts as risen when it is this many times the usual one, and by this many milliseconds. */
const risenFactor = 3
const risenBy = 200

/** @param left how whoever asked the origin before left it: requests at once, and the time of the next one */
export function startPace(rules: PaceRules, left: { limit: number; notBefore: number } | null = null): Pace {
  const limit = Math.max(1, Math.min(rules.concurrency, left?.limit ?? rules.concurrency))
  return {
    limit,
    notBefore: left?.notBefore ?? -Infinity,
    usual: null,
    present: null,
    refusals: 0,
    reason: null,
    named: false,
    loweredAt: -Infinity,
  }
}

/** Slower when the origin refuses or becomes slow, faster again by one request each round that goes well. */
export function afterAnswer(pace: Pace, sample: PaceSample, now: number, rules: PaceRules): Pace {
  if (sample.kind === 'too-much') return afterRefusal(pace, sample, now, rules)
  const present = smooth(pace.present, sample.ms, 0.2)
  // Up slowly, down quickly: the usual latency is that of an origin that is not under strain.
  const usual = smooth(pace.usual, sample.ms, pace.usual !== null && sample.ms > pace.usual ? 0.01 : 0.2)
  const answered: Pace = { ...pace, present, usual, refusals: 0 }
  if (present > usual * risenFactor && present > usual + risenBy) return lowered(answered, 0.75, now, 'latency')
  const limit = Math.min(rules.concurrency, pace.limit + 1 / pace.limit)
  return { ...answered, limit, reason: limit < rules.concurrency ? pace.reason : null }
}

/** Milliseconds between the starts of two requests. */
export function startInterval(rules: PaceRules): number {
  const rate = rules.requestsPerSecond === null ? 0 : 1000 / rules.requestsPerSecond
  return Math.max(rate, Math.min(rules.crawlDelay ?? 0, rules.longestWait))
}

function afterRefusal(
  pace: Pace,
  { status, retryAfter }: Extract<PaceSample, { kind: 'too-much' }>,
  now: number,
  rules: PaceRules,
): Pace {
  const own = Math.min(longestPause, firstPause * 2 ** pace.refusals)
  const until = now + (retryAfter === null ? own : Math.min(retryAfter, rules.longestWait))
  const refused = {
    ...pace,
    reason: `${status}` as const,
    ...(until > pace.notBefore && { notBefore: until, named: retryAfter !== null }),
  }
  // The answers to what was under way together are one refusal.
  if (now - pace.loweredAt < lowerAtMostEvery) return refused
  return { ...lowered(refused, 0.5, now, refused.reason), refusals: pace.refusals + 1 }
}

function lowered(pace: Pace, factor: number, now: number, reason: PaceReason): Pace {
  if (now - pace.loweredAt < lowerAtMostEvery) return pace
  return { ...pace, limit: Math.max(1, pace.limit * factor), reason, loweredAt: now }
}

function smooth(before: number | null, value: number, weight: number): number {
  return before === null ? value : before + (value - before) * weight
}
