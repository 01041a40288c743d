import { random } from '../../helpers/random.ts'
import { describe, expect, it } from 'vitest'
import {
  afterAnswer,
  concurrencyOf,
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
  Array.from({ length: count }, (_, i) => [from + i * every, { kind: 'answered', ms } as PaceSample] as const)

describe('the concurrency limit', () => {
  it('starts at the configured concurrency and never exceeds it', () => {
    expect(feed(startPace(), answers(100, 50, 0)).limit).toBe(Infinity)
  })

  it('is halved by a refusal, once for requests in flight together', () => {
    const refused = { kind: 'too-much', status: 429, retryAfter: null, repeated: false } as const
    const pace = feed(startPace(), [
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
    const pace = feed(startPace(), [
      [0, { kind: 'too-much', status: 429, retryAfter: 0, repeated: false }],
      ...answers(4, 50, 1),
    ])
    expect(pace.limit).toBeGreaterThan(4.8)
    expect(pace.limit).toBeLessThan(5.1)
  })

  it('falls if latency rises sharply, but not for a constantly slow origin', () => {
    const fast = feed(startPace(), answers(50, 50, 0))
    expect(feed(fast, answers(40, 1000, 10_000, 100)).limit).toBeLessThan(5)
    expect(feed(fast, answers(40, 140, 10_000, 100)).limit).toBe(Infinity)
    expect(feed(startPace(), answers(100, 2000, 0, 100)).limit).toBe(Infinity)
  })
})

/** The concurrency of a warmup of a shop, over time. `msOf`: the latency of a page that is requested beside `others` at that second. */
function simulate(seconds: number, msOf: (second: number, others: number) => number): number[] {
  let pace = startPace()
  let now = 0
  const limits: number[] = []
  const inFlight: { end: number; ms: number }[] = []
  while (now < seconds * 1000) {
    while (inFlight.length < concurrencyOf(pace, rules)) {
      const ms = msOf(now / 1000, inFlight.length)
      inFlight.push({ end: now + ms, ms })
    }
    inFlight.sort((a, b) => a.end - b.end)
    const { end, ms } = inFlight.shift()!
    now = end
    pace = afterAnswer(pace, { kind: 'answered', ms }, now, rules)
    limits[Math.floor(now / 1000)] = concurrencyOf(pace, rules)
  }
  return Array.from(limits, (limit) => limit ?? 0)
}

describe('latency', () => {
  it.each([0.02, 0.1, 0.2, 0.5, 0.9])('of fast and slow pages that alternate does not slow down: %f', (fast) => {
    const next = random(7)
    const limits = simulate(300, () => (next() < fast ? 15 : 600))
    expect(limits.filter((limit) => limit > 0 && limit < rules.concurrency).length).toBeLessThan(15)
  })

  it('that rises with the load keeps the concurrency low, until the load is gone', () => {
    const workers = (second: number) => (second < 30 ? 8 : second < 200 ? 1 : 8)
    const limits = simulate(300, (second, others) => 50 * Math.max(1, (others + 1) / workers(second)))
    expect(Math.max(...limits.slice(50, 200))).toBeLessThanOrEqual(7)
    expect(limits.slice(250).every((limit) => limit === 0 || limit === rules.concurrency)).toBe(true)
  })

  it.each([0, 60])('that rises by itself, within %i s, is accepted after a while', (ramp) => {
    const limits = simulate(300, (second) => 50 * Math.min(20, Math.max(1, ((second - 30) / (ramp || 0.1)) * 20)))
    expect(Math.min(...limits.slice(30, 150).filter((limit) => limit > 0))).toBeLessThanOrEqual(2)
    expect(limits.at(-1)).toBe(rules.concurrency)
  })
})

describe('a pause', () => {
  it('follows Retry-After up to the cap', () => {
    expect(
      feed(startPace(), [[100, { kind: 'too-much', status: 429, retryAfter: 5000, repeated: false }]]).notBefore,
    ).toBe(5100)
    expect(
      feed(startPace(), [[100, { kind: 'too-much', status: 429, retryAfter: 86_400_000, repeated: false }]]).notBefore,
    ).toBe(60_100)
  })

  it('doubles without Retry-After, up to half a minute', () => {
    const refused = { kind: 'too-much', status: 429, retryAfter: null, repeated: false } as const
    const pauses: number[] = []
    let pace = startPace()
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

describe.each([503, null] as const)('%s without Retry-After', (status) => {
  const refused = { kind: 'too-much', status, retryAfter: null, repeated: false } as const
  /** A series in which every `nth` answer is a 503. */
  const every = (nth: number, count: number, sample: PaceSample = refused) =>
    answers(count, 50, 0).map(([at, answered], i) => [at, i % nth === nth - 1 ? sample : answered] as const)

  it('changes nothing while it comes from every tenth page', () => {
    const pace = feed(startPace(), every(10, 3000))
    expect([pace.limit, pace.notBefore, pace.reason]).toEqual([Infinity, -Infinity, null])
  })

  it('slows down after seven in a row, even at the start', () => {
    const pace = startPace()
    expect(feed(pace, every(1, 6)).limit).toBe(Infinity)
    expect(feed(pace, every(1, 7))).toMatchObject({ reason: status === null ? 'errors' : '503', refusals: 1 })
    expect(feed(pace, every(1, 7)).limit).toBeLessThan(8)
  })

  it('slows down the more, the larger its share is', () => {
    const paces = [4, 2, 1].map((nth) => feed(startPace(), every(nth, 300)))
    const [quarter, half, all] = paces.map(({ limit }) => limit)
    expect([quarter, half! < quarter!, all! < half!]).toEqual([Infinity, true, true])
    expect(paces.map(({ notBefore }) => notBefore).toSorted((a, b) => a - b)).toEqual(
      paces.map(({ notBefore }) => notBefore),
    )
  })

  it('says nothing new when the same pages fail again, but does while the origin is overloaded', () => {
    const again = { ...refused, repeated: true }
    expect(feed(startPace(), every(1, 1000, again))).toEqual(startPace())
    const down = feed(startPace(), every(1, 7))
    expect(afterAnswer(down, again, 100_000, rules).notBefore).toBeGreaterThan(100_000)
  })

  it('with Retry-After is obeyed at once', () => {
    expect(feed(startPace(), [[100, { ...refused, retryAfter: 2000 }]])).toMatchObject({
      limit: 4,
      notBefore: 2100,
    })
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
