import type { PaceSample } from './pace.ts'
import type { WarmResult } from './warm-result.ts'

export interface UrlFailure {
  /** Which configured variant, counted from 0. */
  variant: number
  status: number | null
  error: string
  attempts: number
}

export interface RetryRules {
  /** Attempts after the first. */
  retries: number
  /** The longest that a `Retry-After` is obeyed, in milliseconds. */
  longestWait: number
}

/** What follows from one attempt. */
export type Verdict =
  | { kind: 'warm'; fetched: boolean }
  | { kind: 'retry'; after: number }
  | { kind: 'failed'; status: number | null; error: string }

const firstBackoff = 500
const longestBackoff = 30_000

/**
 * Judges the attempt with this number (from 1). A fault of the moment (no answer, 408, 425, 429, 5xx) is tried
 * again, each time after twice as long; what the shop will say again (404, an answer that may not be stored)
 * is not.
 *
 * @param random 0 to 1: half of a delay is spread, so that what failed together does not come back together
 */
export function judgeAttempt(result: WarmResult, attempt: number, rules: RetryRules, random: number): Verdict {
  if (result.kind === 'fresh') return { kind: 'warm', fetched: false }
  if (result.kind === 'stored' && result.status < 400) return { kind: 'warm', fetched: true }
  const failed = { kind: 'failed', status: result.status, error: errorOf(result) } as const
  if (attempt > rules.retries || !isPassing(result)) return failed
  const backoff = Math.min(longestBackoff, firstBackoff * 2 ** (attempt - 1)) * (0.5 + random / 2)
  const asked = result.kind === 'failed' ? Math.min(result.retryAfter ?? 0, rules.longestWait) : 0
  return { kind: 'retry', after: Math.max(asked, backoff) }
}

/** What an attempt says about the strain on the origin; null where it says nothing. */
export function toPaceSample(result: WarmResult): PaceSample | null {
  if (result.kind === 'fresh') return null
  if (result.status === 429 || result.status === 503)
    return { kind: 'too-much', status: result.status, retryAfter: result.kind === 'failed' ? result.retryAfter : null }
  // A refused connection is quick and a timeout is slow; neither is a latency.
  return result.status === null ? null : { kind: 'answered', ms: result.ms }
}

function isPassing(result: Exclude<WarmResult, { kind: 'fresh' }>): boolean {
  const { status } = result
  if (result.kind === 'not-stored' && result.passing) return true
  if (status === null) return result.kind === 'failed'
  return status >= 500 || status === 408 || status === 425 || status === 429
}

function errorOf(result: Exclude<WarmResult, { kind: 'fresh' }>): string {
  if (result.kind === 'failed') return result.error
  return result.kind === 'not-stored' ? result.reason : `answered ${result.status}`
}
