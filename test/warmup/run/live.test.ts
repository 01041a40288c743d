import { describe, expect, it, onTestFinished } from 'vitest'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { openRecords } from '../../helpers/records.ts'
import { byDoubling, latencyBucket, emptyHistogram, percentile } from '../../../src/warmup/run/latency.ts'
import { mergeLive, emptyResults, readLive, writeLive, type WorkerLive } from '../../../src/warmup/run/live.ts'
import { classOf } from '../../../src/warmup/run/result-class.ts'
import { batchType } from '../../../src/warmup/run/messages.ts'
import { cancelRun, pauseRun, resumeRun } from '../../../src/warmup/run/moves.ts'
import { createRun, readProgress } from '../../../src/warmup/run/runs.ts'
import {
  addRings,
  countInRing,
  emptyRing,
  etaOf,
  peakOf,
  rateNow,
  advanceRing,
  type SecondRing,
} from '../../../src/warmup/run/second-ring.ts'
import { noErrors } from '../../helpers/warmup-bench.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

const start = Date.parse('2026-11-21T10:00:00Z')

function ringOf(perSecond: readonly number[], from = start): SecondRing {
  return perSecond.reduce((ring, count, index) => countInRing(ring, from + index * 1000, count), emptyRing(from))
}

describe('the latency histogram', () => {
  it('has percentiles accurate within a fifth', () => {
    const latencies = emptyHistogram()
    for (let ms = 1; ms <= 1000; ms++) latencies[latencyBucket(ms)]!++
    for (const [share, exact] of [
      [0.5, 500],
      [0.9, 900],
      [0.99, 990],
    ] as const) {
      const found = percentile(latencies, share)!
      expect(found).toBeGreaterThanOrEqual(exact)
      expect(found).toBeLessThanOrEqual(exact * 1.2)
    }
    expect(byDoubling(latencies).reduce((sum, { count }) => sum + count, 0)).toBe(1000)
    expect(byDoubling(latencies).find(({ upTo }) => upTo === 8)).toEqual({ upTo: 8, count: 4 })
  })

  it('has no percentile when empty, and counts extreme latencies', () => {
    expect(percentile(emptyHistogram(), 0.5)).toBeNull()
    expect(latencyBucket(0)).toBe(0)
    expect(latencyBucket(10_000_000)).toBe(emptyHistogram().length - 1)
  })
})

describe('the ring of the last minute', () => {
  it('forgets older seconds and adds those of several workers', () => {
    const ring = ringOf([5, 7, 0, 2])
    expect(ring.counts.slice(-4)).toEqual([5, 7, 0, 2])
    expect(advanceRing(ring, start + 60_000).counts.slice(0, 3)).toEqual([7, 0, 2])
    expect(advanceRing(ring, start + 3_600_000).counts.every((count) => count === 0)).toBe(true)
    expect(addRings([ring, ringOf([1, 1], start + 2000)], start + 4000).counts.slice(-5)).toEqual([5, 7, 1, 3, 0])
    // Neither includes the incomplete second.
    expect(rateNow(ringOf([10, 10, 10, 10, 10, 3]))).toBe(10)
    expect(peakOf(ringOf([4, 9, 50]))).toBe(9)
  })

  it('estimates the remaining time with a range', () => {
    expect(etaOf(ringOf([10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 0]), 300, 1)).toEqual({
      seconds: 20,
      low: 15,
      high: 30,
    })
    expect(etaOf(emptyRing(start), 0, 0)).toEqual({ seconds: 0, low: 0, high: 0 })
    expect(etaOf(emptyRing(start), 5, 0)).toBeNull()
    expect(etaOf(ringOf([3, 1]), 50, 5)).toEqual({ seconds: 10, low: 10, high: 10 })
  })
})

it('results are classified by why a page was not cached', () => {
  const notStored = (reason: string) => classOf({ kind: 'not-stored', status: 200, ms: 1, reason })
  const failed = (error: string, status: number | null = null) =>
    classOf({ kind: 'failed', status, error, retryAfter: null, ms: 1 })
  expect(notStored('Set-Cookie without public or s-maxage').reason).toBe('set-cookie')
  expect(notStored('Cache-Control: private').reason).toBe('private')
  expect(notStored('Cache-Control: no-store').reason).toBe('no-store')
  expect(notStored('larger than cache.maxPageSize').reason).toBe('too-large')
  expect(notStored('a path that is never cached').reason).toBe('bypass')
  expect(notStored('something new')).toEqual({ kind: 'not-stored', reason: 'other' })
  expect(failed('no complete response within 30 s').reason).toBe('timeout')
  expect(failed('connect ECONNREFUSED 127.0.0.1:1').reason).toBe('refused')
  expect(failed('answered 503', 503)).toEqual({ kind: 'failed', reason: '503' })
  expect(classOf({ kind: 'stored', status: 404, ms: 0 })).toEqual({ kind: 'failed', reason: '404' })
})

function worker(part: Partial<WorkerLive>): WorkerLive {
  return {
    host: 'shop',
    pid: 1,
    startedAt: start,
    done: 0,
    peak: 0,
    ring: emptyRing(start),
    latencies: emptyHistogram(),
    results: emptyResults(),
    slots: [],
    slowest: [],
    failures: [],
    origins: [],
    memory: { rss: 1, heapUsed: 1 },
    eventLoopDelay: { mean: 0, max: 0 },
    ...part,
  }
}

it('figures of a dead worker still count, but its slots do not', () => {
  const slot = (url: string) => ({ url, since: start, attempt: 1 })
  const gone = worker({
    done: 3,
    peak: 40,
    results: { fetched: 2, fresh: 0, notStored: { private: 1 }, failed: {} },
    slots: [slot('http://a/gone')],
  })
  const here = worker({
    pid: 2,
    done: 2,
    results: { fetched: 1, fresh: 1, notStored: { private: 1 }, failed: { 404: 1 } },
    slots: [slot('http://a/here')],
    slowest: [{ url: 'http://a/s', ms: 9, at: start }],
  })
  const live = mergeLive(
    [
      { id: 'gone', at: start, live: gone },
      { id: 'here', at: start + 10_000, live: here },
    ],
    { running: true, remaining: 5, average: 1 },
    start + 10_100,
  )
  expect(live.results).toEqual({ fetched: 3, fresh: 1, notStored: { private: 2 }, failed: { 404: 1 } })
  expect(live.slots).toEqual([{ worker: 'here', ...slot('http://a/here') }])
  expect(live.workers.map(({ id, alive }) => [id, alive])).toEqual([
    ['gone', false],
    ['here', true],
  ])
  expect(live).toMatchObject({
    updatedAt: start + 10_000,
    rate: { peak: 40, average: 1 },
    slowest: [{ url: 'http://a/s' }],
    eta: { seconds: 5 },
  })
})

it('a later report of a worker replaces the earlier one', async () => {
  let now = start
  const records = await openRecords({ directory: await tempDir(), now: () => now })
  try {
    const discovery = { ...noErrors, total: 1 }
    const lists = [{ channelId: 'a', origin: 'http://a', urls: ['http://a/'] }]
    const asked = { salesChannelId: null, batchSize: 10, force: false, failure: null, discovery, lists }
    const run = await createRun(records, asked)
    expect(await readLive(records, run)).toMatchObject({ updatedAt: null, workers: [], eta: null })
    for (const done of [1, 2]) await writeLive(records.db, run.id, 'w', worker({ done }), (now += 250))
    expect(await readLive(records, run)).toMatchObject({ updatedAt: now, workers: [{ id: 'w', done: 2, alive: true }] })
  } finally {
    await records.close()
  }
})

describe('a run is behind another one', () => {
  /** Runs on real records; every step is a second after the one before it. */
  async function openRuns() {
    let now = start
    const tick = () => (now += 1000)
    const records = await openRecords({ directory: await tempDir(), now: () => now })
    onTestFinished(() => records.close())
    const queue = openQueue(records, () => now)
    return {
      records,
      tick,
      /** Creates a run with a page at each origin. */
      async create(...origins: string[]): Promise<string> {
        tick()
        const lists = origins.map((origin) => ({ channelId: origin, origin, urls: [`${origin}/`] }))
        const discovery = { ...noErrors, total: origins.length }
        const run = { salesChannelId: null, batchSize: 1, force: false, failure: null, discovery, lists }
        return (await createRun(records, run)).id
      },
      /** A worker reports on a run. */
      report: (id: string) => writeLive(records.db, id, 'w', worker({}), now),
      behind: async (id: string) => (await readLive(records, (await readProgress(records, id))!)).behind,
      /** A worker takes the next batch. */
      async claim() {
        tick()
        const membership = await queue.join({ kind: 'daemon', transports: ['async'], types: [batchType] })
        return membership.claim(new Map([[batchType, 1]]), 1)
      },
    }
  }

  const [a, b] = ['http://a', 'http://b']

  it('which workers are processing, and which comes first at its origin', async () => {
    const { create, report, behind, tick } = await openRuns()
    const first = await create(a)
    await report(first)
    const [second, third] = [await create(a), await create(a)]
    expect([await behind(first), await behind(second), await behind(third)]).toEqual([null, first, first])
    // No worker has reported for a while.
    for (let seconds = 0; seconds < 4; seconds++) tick()
    expect(await behind(third)).toBeNull()
  })

  it('whose last batch a worker holds', async () => {
    const { create, report, behind, claim } = await openRuns()
    const first = await create(a)
    expect(await claim()).toHaveLength(1)
    const second = await create(a)
    await report(first)
    expect(await behind(second)).toBe(first)
  })

  it('not of other origins, and not where it has an origin to itself', async () => {
    const { create, report, behind } = await openRuns()
    const first = await create(a)
    const [other, both, same] = [await create(b), await create(a, 'http://c'), await create(b, a)]
    await report(first)
    expect(await behind(other)).toBeNull()
    expect(await behind(both)).toBeNull()
    await report(other)
    expect([first, other]).toContain(await behind(same))
  })

  it('not when that one has ended, or was resumed after it', async () => {
    const { records, create, report, behind, claim, tick } = await openRuns()
    const ended = await create(a)
    expect(await claim()).toHaveLength(1)
    const second = await create(a)
    await cancelRun(records, ended)
    await report(ended)
    expect(await behind(second)).toBeNull()
    const [paused, later] = [await create(b), await create(b)]
    await pauseRun(records, paused)
    tick()
    await resumeRun(records, paused, () => b)
    await report(paused)
    expect(await behind(later)).toBeNull()
  })
})
