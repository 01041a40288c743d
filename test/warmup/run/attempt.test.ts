import { expect, it } from 'vitest'
import { evaluateAttempt, toPaceSample } from '../../../src/warmup/run/attempt.ts'
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

it.each<{ result: WarmResult; verdict: object }>([
  { result: { kind: 'fresh' }, verdict: { kind: 'warm', fetched: false } },
  { result: { kind: 'stored', status: 200, ms: 5 }, verdict: { kind: 'warm', fetched: true } },
  { result: { kind: 'stored', status: 301, ms: 5 }, verdict: { kind: 'warm', fetched: true } },
  { result: { kind: 'stored', status: 404, ms: 5 }, verdict: { kind: 'failed', status: 404, error: 'answered 404' } },
  {
    result: { kind: 'not-stored', status: 200, ms: 5, reason: 'private' },
    verdict: { kind: 'failed', status: 200, error: 'private' },
  },
  {
    result: { kind: 'not-stored', status: 200, ms: 5, reason: 'invalidated while it was fetched', transient: true },
    verdict: { kind: 'retry', after: 500 },
  },
  { result: { kind: 'not-stored', status: 503, ms: 5, reason: 'no-store' }, verdict: { kind: 'retry', after: 500 } },
  { result: failed(null), verdict: { kind: 'retry', after: 500 } },
  { result: failed(500), verdict: { kind: 'retry', after: 500 } },
  { result: failed(408), verdict: { kind: 'retry', after: 500 } },
  { result: failed(429, 7000), verdict: { kind: 'retry', after: 7000 } },
  { result: failed(429, 86_400_000), verdict: { kind: 'retry', after: 60_000 } },
  { result: failed(404), verdict: { kind: 'failed', status: 404, error: 'broken' } },
  { result: failed(403), verdict: { kind: 'failed', status: 403, error: 'broken' } },
])('$result.kind $result.status: $verdict.kind', ({ result, verdict }) => {
  expect(evaluateAttempt(result, 1, rules, 1)).toEqual(verdict)
})

it('backoff doubles with half of it as jitter, and the last attempt decides', () => {
  expect([1, 2, 3].map((attempt) => evaluateAttempt(failed(500), attempt, rules, 1))).toEqual(
    [500, 1000, 2000].map((after) => ({ kind: 'retry', after })),
  )
  expect(evaluateAttempt(failed(500), 1, rules, 0)).toEqual({ kind: 'retry', after: 250 })
  expect(evaluateAttempt(failed(500), 4, rules, 1)).toEqual({ kind: 'failed', status: 500, error: 'broken' })
  expect(evaluateAttempt(failed(500), 20, { ...rules, retries: 20 }, 1)).toEqual({ kind: 'retry', after: 30_000 })
  expect(evaluateAttempt(failed(500), 1, { ...rules, retries: 0 }, 1)).toMatchObject({ kind: 'failed' })
})

it('samples of the load of the origin', () => {
  expect(toPaceSample({ kind: 'fresh' }, 1)).toBeNull()
  expect(toPaceSample(failed(null), 1)).toBeNull()
  const refused = { kind: 'too-much', status: 503, retryAfter: 100 }
  expect(toPaceSample(failed(503, 100), 1)).toEqual({ ...refused, repeated: false })
  expect(toPaceSample(failed(503, 100), 2)).toEqual({ ...refused, repeated: true })
  expect(toPaceSample(failed(500), 1)).toEqual({ kind: 'answered', ms: 5 })
  expect(toPaceSample({ kind: 'not-stored', status: 429, ms: 5, reason: 'x' }, 1)).toEqual({
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
