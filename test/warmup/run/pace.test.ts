import { describe, expect, it } from 'vitest'
import {
  afterAnswer,
  startInterval,
  startPace,
  type Pace,
  type PaceRules,
  type PaceSample,
} from '../../../src/warmup/run/pace.ts'

const rules: PaceRules = { concurrency: 8, requestsPerSecond: null, crawlDelay: null, maxWait: 60_000 }

function feed(pace: Pace, samples: readonly (readonly [at: number, sample: PaceSample])[]): Pace {
  return samples.reduce((current, [at, sample]) => afterAnswer(current, sample, at, rules), pace)
}

const answers = (count: number, ms: number, from: number, every = 10) =>
  Array.from({ length: count }, (_, i) => [from + i * every, { kind: 'answered', ms }] as const)

describe('the concurrency limit', () => {
  it('starts at the configured concurrency and never exceeds it', () => {
    expect(feed(startPace(rules), answers(100, 50, 0)).limit).toBe(8)
  })

  it('is halved by a refusal, once for requests in flight together', () => {
    const refused = { kind: 'too-much', status: 429, retryAfter: null } as const
    const pace = feed(startPace(rules), [
      [0, refused],
      [1, refused],
      [2, refused],
    ])
    expect(pace.limit).toBe(4)
    expect(
      feed(pace, [
        [2000, refused],
        [4000, refused],
        [6000, refused],
        [8000, refused],
      ]).limit,
    ).toBe(1)
  })

  it('grows by one per successful round', () => {
    const pace = feed(startPace(rules), [[0, { kind: 'too-much', status: 429, retryAfter: 0 }], ...answers(4, 50, 1)])
    expect(pace.limit).toBeGreaterThan(4.8)
    expect(pace.limit).toBeLessThan(5.1)
  })

  it('falls if latency rises sharply, but not for a constantly slow origin', () => {
    const fast = feed(startPace(rules), answers(50, 50, 0))
    expect(feed(fast, answers(40, 1000, 10_000, 100)).limit).toBeLessThan(5)
    expect(feed(fast, answers(40, 140, 10_000, 100)).limit).toBe(8)
    expect(feed(startPace(rules), answers(100, 2000, 0, 100)).limit).toBe(8)
  })
})

describe('a pause', () => {
  it('follows Retry-After up to the cap', () => {
    expect(feed(startPace(rules), [[100, { kind: 'too-much', status: 429, retryAfter: 5000 }]]).notBefore).toBe(5100)
    expect(feed(startPace(rules), [[100, { kind: 'too-much', status: 429, retryAfter: 86_400_000 }]]).notBefore).toBe(
      60_100,
    )
  })

  it('doubles without Retry-After, up to half a minute', () => {
    const refused = { kind: 'too-much', status: 429, retryAfter: null } as const
    const pauses: number[] = []
    let pace = startPace(rules)
    for (let at = 0; pauses.length < 9; at += 100_000) {
      pace = afterAnswer(pace, refused, at, rules)
      pauses.push(pace.notBefore - at)
    }
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    const after = afterAnswer(
      afterAnswer(pace, { kind: 'answered', ms: 10 }, 1_000_000, rules),
      refused,
      1_100_000,
      rules,
    )
    expect(after.notBefore).toBe(1_100_500)
  })
})

it.each([
  { requestsPerSecond: null, crawlDelay: null, interval: 0 },
  { requestsPerSecond: 20, crawlDelay: null, interval: 50 },
  { requestsPerSecond: 20, crawlDelay: 1000, interval: 1000 },
  { requestsPerSecond: 0.5, crawlDelay: 1000, interval: 2000 },
  { requestsPerSecond: null, crawlDelay: 86_400_000, interval: 60_000 },
])(
  '$interval ms between two requests at $requestsPerSecond per second and a crawl delay of $crawlDelay',
  ({ interval, ...given }) => {
    expect(startInterval({ ...rules, ...given })).toBe(interval)
  },
)
