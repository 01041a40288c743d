import type { PaceSample } from './pace.ts'
import type { WarmResult } from './warm-result.ts'

export interface UrlFailure {
  /** Index of the configured variant, from 0. */
  variant: number
  status: number | null
  error: string
  attempts: number
}

export interface RetryRules {
  /** Attempts after the first. */
  retries: number
  /** Cap for `Retry-After`, in milliseconds. */
  maxWait: number
}

/** What an attempt leads to; `after` is in milliseconds. */
export type Verdict =
  | { kind: 'warm'; fetched: boolean }
  | { kind: 'retry'; after: number }
  | { kind: 'failed'; status: number | null; error: string }

const firstBackoff = 500
const maxBackoff = 30_000

/**
 * Decides what an attempt leads to. Transient failures (no response, 408, 425, 429, 5xx) are retried with exponential backoff;
 * permanent ones (404, an uncacheable response) are not.
 *
 * @param attempt number of the attempt, from 1
 * @param random 0 to 1: half of each delay is jitter, so that requests that failed together are not retried together
 */
export function evaluateAttempt(result: WarmResult, attempt: number, rules: RetryRules, random: number): Verdict {
  if (result.kind === 'fresh') return { kind: 'warm', fetched: false }
  if (result.kind === 'stored' && result.status < 400) return { kind: 'warm', fetched: true }
  const failed = { kind: 'failed', status: result.status, error: errorOf(result) } as const
  if (attempt > rules.retries || !isTransient(result)) return failed
  const backoff = Math.min(maxBackoff, firstBackoff * 2 ** (attempt - 1)) * (0.5 + random / 2)
  const retryAfter = result.kind === 'failed' ? Math.min(result.retryAfter ?? 0, rules.maxWait) : 0
  return { kind: 'retry', after: Math.max(retryAfter, backoff) }
}

/**
 * What an attempt reveals about the load of the origin; null if nothing.
 *
 * @param attempt number of the attempt, from 1
 */
export function toPaceSample(result: WarmResult, attempt: number): PaceSample | null {
  if (result.kind === 'fresh') return null
  if (result.status === 429 || result.status === 503) {
    const retryAfter = result.kind === 'failed' ? result.retryAfter : null
    return { kind: 'too-much', status: result.status, retryAfter, repeated: attempt > 1 }
  }
  // A refused connection is fast and a timeout slow: neither measures latency.
  return result.status === null ? null : { kind: 'answered', ms: result.ms }
}

function isTransient(result: Exclude<WarmResult, { kind: 'fresh' }>): boolean {
  const { status } = result
  if (result.kind === 'not-stored' && result.transient) return true
  if (status === null) return result.kind === 'failed'
  return status >= 500 || status === 408 || status === 425 || status === 429
}

function errorOf(result: Exclude<WarmResult, { kind: 'fresh' }>): string {
  if (result.kind === 'failed') return result.error
  return result.kind === 'not-stored' ? result.reason : `answered ${result.status}`
}
