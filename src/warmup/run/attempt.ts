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
  /** Attempts after the first, without those during which the page was purged. */
  retries: number
  /** Cap for `Retry-After`, in milliseconds. */
  maxWait: number
}

/** Earlier attempts to warm a page. */
export interface Attempts {
  /** Failed attempts, without those of `purged`. */
  failed: number
  /** Attempts during which the page was purged. */
  purged: number
}

export const noAttempts: Attempts = { failed: 0, purged: 0 }

/** What an attempt leads to; `after` is in milliseconds. */
export type Verdict =
  | { kind: 'warm'; fetched: boolean }
  | { kind: 'retry'; after: number; attempts: Attempts }
  | { kind: 'failed'; status: number | null; error: string }

const firstBackoff = 500
const maxBackoff = 30_000
/** Retries of a page that is purged during each fetch. They wait up to 88 seconds in total, and most bursts of purges end sooner. */
export const purgeRetries = 20
/** A purge may be over at once, so these retries do not wait longer (milliseconds). */
const maxPurgeBackoff = 5_000

/**
 * Decides what an attempt leads to. Transient failures (no response, 408, 425, 429, 5xx) are retried with exponential backoff;
 * permanent ones (404, an uncacheable response) are not. Purges during fetches have retries of their own: they are not the
 * fault of the page.
 *
 * @param before the attempts before this one
 * @param random 0 to 1: half of each delay is jitter, so that requests that failed together are not retried together
 */
export function evaluateAttempt(result: WarmResult, before: Attempts, rules: RetryRules, random: number): Verdict {
  if (result.kind === 'fresh') return { kind: 'warm', fetched: false }
  if (result.kind === 'stored' && result.status < 400) return { kind: 'warm', fetched: true }
  const wasPurged = result.kind === 'not-stored' && result.transient === 'purge'
  const [retried, most, maxWait] = wasPurged
    ? [before.purged, purgeRetries, maxPurgeBackoff]
    : [before.failed, rules.retries, maxBackoff]
  if (retried >= most || !isTransient(result)) return { kind: 'failed', status: result.status, error: errorOf(result) }
  const backoff = Math.min(maxWait, firstBackoff * 2 ** retried) * (0.5 + random / 2)
  const retryAfter = result.kind === 'failed' ? Math.min(result.retryAfter ?? 0, rules.maxWait) : 0
  const attempts = wasPurged ? { ...before, purged: retried + 1 } : { ...before, failed: retried + 1 }
  return { kind: 'retry', after: Math.max(retryAfter, backoff), attempts }
}

/** What an attempt reveals about the load of the origin; null if nothing. `before`: the attempts before it. */
export function toPaceSample(result: WarmResult, before: Attempts): PaceSample | null {
  if (result.kind === 'fresh') return null
  const { status } = result
  // Neither a refused connection nor a timeout measures latency, but many of them mean the same as many 503 answers.
  if (status === null ? result.kind === 'failed' : status === 429 || status >= 500) {
    const retryAfter = result.kind === 'failed' ? result.retryAfter : null
    const named = status === 429 || status === 503 ? status : null
    return { kind: 'too-much', status: named, retryAfter, repeated: before.failed > 0 }
  }
  return status === null ? null : { kind: 'answered', ms: result.ms }
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
