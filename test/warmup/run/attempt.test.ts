import { expect, it } from 'vitest'
import { evaluateAttempt, noAttempts, purgeRetries, toPaceSample } from '../../../src/warmup/run/attempt.ts'
import type { WarmResult } from '../../../src/warmup/run/warm-result.ts'
import { parseRetryAfter } from '../../../src/warmup/run/retry-after.ts'

const rules = { retries: 3, maxWait: 60_000 }
const failed = (status: number | null, retryAfter: number | null = null): WarmResult => ({
  kind: 'failed',
  status,
  error: 'broken',
  retryAfter,
  ms: 5,
})

const purged: WarmResult = { kind: 'not-stored', status: 200, ms: 5, reason: 'purged', transient: 'purge' }
const retry = (after: number, attempts = { failed: 1, purged: 0 }) => ({ kind: 'retry', after, attempts })

it.each<{ result: WarmResult; verdict: object }>([
  { result: { kind: 'fresh' }, verdict: { kind: 'warm', fetched: false } },
  { result: { kind: 'stored', status: 200, ms: 5 }, verdict: { kind: 'warm', fetched: true } },
  { result: { kind: 'stored', status: 301, ms: 5 }, verdict: { kind: 'warm', fetched: true } },
  { result: { kind: 'stored', status: 404, ms: 5 }, verdict: { kind: 'failed', status: 404, error: 'answered 404' } },
  {
    result: { kind: 'not-stored', status: 200, ms: 5, reason: 'private' },
    verdict: { kind: 'failed', status: 200, error: 'private' },
  },
  { result: purged, verdict: retry(500, { failed: 0, purged: 1 }) },
  { result: { kind: 'not-stored', status: 200, ms: 5, reason: 'busy', transient: 'cache' }, verdict: retry(500) },
  { result: { kind: 'not-stored', status: 503, ms: 5, reason: 'no-store' }, verdict: retry(500) },
  { result: failed(null), verdict: retry(500) },
  { result: failed(500), verdict: retry(500) },
  { result: failed(408), verdict: retry(500) },
  { result: failed(429, 7000), verdict: retry(7000) },
  { result: failed(429, 86_400_000), verdict: retry(60_000) },
  { result: failed(404), verdict: { kind: 'failed', status: 404, error: 'broken' } },
  { result: failed(403), verdict: { kind: 'failed', status: 403, error: 'broken' } },
])('$result.kind $result.status: $verdict.kind', ({ result, verdict }) => {
  expect(evaluateAttempt(result, noAttempts, rules, 1)).toEqual(verdict)
})

it('backoff doubles with half of it as jitter, and the last attempt decides', () => {
  const after = (failures: number) => ({ failed: failures, purged: 0 })
  expect([0, 1, 2].map((failures) => evaluateAttempt(failed(500), after(failures), rules, 1))).toEqual(
    [500, 1000, 2000].map((delay, failures) => retry(delay, after(failures + 1))),
  )
  expect(evaluateAttempt(failed(500), noAttempts, rules, 0)).toEqual(retry(250))
  expect(evaluateAttempt(failed(500), after(3), rules, 1)).toEqual({ kind: 'failed', status: 500, error: 'broken' })
  expect(evaluateAttempt(failed(500), after(19), { ...rules, retries: 20 }, 1)).toEqual(retry(30_000, after(20)))
  expect(evaluateAttempt(failed(500), noAttempts, { ...rules, retries: 0 }, 1)).toMatchObject({ kind: 'failed' })
})

it('purges during fetches take no retries from a page, and have a limit of their own', () => {
  const none = { ...rules, retries: 0 }
  expect(evaluateAttempt(purged, noAttempts, none, 1)).toEqual(retry(500, { failed: 0, purged: 1 }))
  expect(evaluateAttempt(purged, { failed: 3, purged: 2 }, rules, 1)).toEqual(retry(2000, { failed: 3, purged: 3 }))
  expect(evaluateAttempt(failed(500), { failed: 0, purged: 9 }, rules, 1)).toEqual(retry(500, { failed: 1, purged: 9 }))
  expect(evaluateAttempt(failed(500), { failed: 3, purged: 9 }, rules, 1)).toMatchObject({ kind: 'failed' })
  const last = { failed: 0, purged: purgeRetries }
  expect(evaluateAttempt(purged, { failed: 0, purged: purgeRetries - 1 }, rules, 1)).toEqual(retry(5000, last))
  expect(evaluateAttempt(purged, last, rules, 1)).toEqual({ kind: 'failed', status: 200, error: 'purged' })
})

it('samples of the load of the origin', () => {
  expect(toPaceSample({ kind: 'fresh' }, noAttempts)).toBeNull()
  const refused = { kind: 'too-much', status: 503, retryAfter: 100 }
  expect(toPaceSample(failed(503, 100), { failed: 0, purged: 1 })).toEqual({ ...refused, repeated: false })
  expect(toPaceSample(failed(503, 100), { failed: 1, purged: 0 })).toEqual({ ...refused, repeated: true })
  expect(toPaceSample(failed(404), noAttempts)).toEqual({ kind: 'answered', ms: 5 })
  for (const status of [null, 500, 502, 504])
    expect(toPaceSample(failed(status), noAttempts)).toEqual({
      kind: 'too-much',
      status: null,
      retryAfter: null,
      repeated: false,
    })
  expect(toPaceSample({ kind: 'not-stored', status: null, ms: 0, reason: 'bypass' }, noAttempts)).toBeNull()
  expect(toPaceSample({ kind: 'not-stored', status: 429, ms: 5, reason: 'x' }, noAttempts)).toEqual({
    kind: 'too-much',
    status: 429,
    retryAfter: null,
    repeated: false,
  })
})

it('parses Retry-After in seconds, as a date, in the past, and unparsable', () => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  expect(parseRetryAfter('120', now)).toBe(120_000)
  expect(parseRetryAfter(' 0 ', now)).toBe(0)
  expect(parseRetryAfter('Sat, 21 Nov 2026 10:01:00 GMT', now)).toBe(60_000)
  expect(parseRetryAfter('Sat, 21 Nov 2020 10:01:00 GMT', now)).toBe(0)
  expect(parseRetryAfter('9'.repeat(400), now)).toBe(Number.MAX_SAFE_INTEGER)
  for (const text of ['soon', '-1', '1.5', '', null, undefined]) expect(parseRetryAfter(text, now)).toBeNull()
})
