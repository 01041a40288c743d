import { describe, expect, it } from 'vitest'
import { readLive } from '../../../src/warmup/run/live.ts'
import { cancelRun, changeConcurrency, pauseRun, resumeRun } from '../../../src/warmup/run/moves.ts'
import { Pacer } from '../../../src/warmup/run/pacer.ts'
import { originOf, rules, stored, urls } from '../../helpers/warmup-bench.ts'
import { until } from '../../helpers/until.ts'
import { VirtualTiming } from '../../helpers/virtual-timing.ts'
import { bench, useBench } from './bench.ts'

useBench()

/** A shop that answers one request at a time, when the test says so, and knows how many it has begun and has not answered. */
function heldShop() {
  const held: (() => void)[] = []
  let ended = false
  return {
    fetchPage: async () => {
      if (!ended) await new Promise<void>((resolve) => void held.push(resolve))
      return stored
    },
    get inFlight() {
      return held.length
    },
    answer: (count: number) => held.splice(0, count).forEach((release) => release()),
    /** Answers everything, now and later. */
    end: () => {
      ended = true
      held.splice(0).forEach((release) => release())
    },
  }
}

const set = (id: string, concurrency: number | null) => changeConcurrency(bench.records, id, () => concurrency)

describe('the concurrency of a run', () => {
  it('is raised and lowered while its requests hang, at every origin', async () => {
    const origins = ['http://origin-a', 'http://origin-b']
    const { id } = await bench.newRun(origins.map((origin) => ({ origin, urls: urls(60) })))
    const shop = heldShop()
    bench.startWorker(shop.fetchPage)
    await until(() => expect(shop.inFlight).toBe(8))
    expect(await set(id, 9)).toMatchObject({ concurrency: 9, status: 'running' })
    await until(() => expect(shop.inFlight).toBe(18))
    await set(id, 2)
    const configured = async () =>
      (await readLive(bench.records, await bench.progress(id))).origins.map((origin) => origin.configured)
    await until(async () => expect(await configured()).toEqual([2, 2]))
    // Those in flight are finished; no other begins until only one is left at each origin.
    shop.answer(16)
    await until(async () => expect((await bench.progress(id)).processed_urls).toBe(16))
    await until(() => expect(shop.inFlight).toBe(4))
    shop.answer(4)
    await until(() => expect(shop.inFlight).toBe(4))
    await set(id, null)
    await until(() => expect(shop.inFlight).toBe(8))
    shop.end()
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 120, concurrency: null })
  })

  it('is kept over a pause, changed during one, and applied by a worker that takes over', async () => {
    const { id } = await bench.newRun([{ urls: urls(60) }], { concurrency: 1 })
    const shop = heldShop()
    const first = bench.startWorker(shop.fetchPage)
    await until(() => expect(shop.inFlight).toBe(1))
    await pauseRun(bench.records, id)
    expect(await set(id, 7)).toMatchObject({ status: 'paused', concurrency: 7 })
    await until(async () => {
      shop.answer(1)
      expect(await bench.messages()).toBe(0)
    })
    await resumeRun(bench.records, id, originOf)
    await until(() => expect(shop.inFlight).toBe(7))
    let isStopped = false
    void first.stop().then(() => (isStopped = true))
    await until(() => {
      shop.answer(7)
      expect(isStopped).toBe(true)
    })
    bench.startWorker(shop.fetchPage)
    await until(() => expect(shop.inFlight).toBe(7))
    shop.end()
    await bench.ended(id)
    // A lower concurrency says nothing about the origin: the next run begins with the configured one.
    const next = await bench.newRun([{ urls: urls(60) }])
    expect(next.concurrency).toBeNull()
    const again = heldShop()
    bench.startWorker(again.fetchPage)
    again.end()
    await bench.ended(next.id)
  })

  it('can be changed until the run has ended', async () => {
    const { id } = await bench.newRun([{ urls: urls(10) }])
    const doubled = (before: number | null) => (before ?? rules.concurrency) * 2
    await changeConcurrency(bench.records, id, doubled)
    expect(await changeConcurrency(bench.records, id, doubled)).toMatchObject({ concurrency: 16 })
    await cancelRun(bench.records, id)
    await expect(set(id, 3)).rejects.toMatchObject({
      code: 'WRONG_STATE',
      message: expect.stringContaining('can be changed'),
    })
    await expect(set('unknown', 3)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('the limit after a change', () => {
  const refused = { kind: 'too-much', status: 429, retryAfter: 0, repeated: false } as const
  const answered = { kind: 'answered', ms: 50 } as const
  /** A pacer at 4 concurrent requests, after these answers at the concurrency before them. */
  const pacerAfter = (...steps: ({ kind: 'too-much' | 'answered' } | number)[]) => {
    const pacer = new Pacer({ ...rules, concurrency: 4 }, new VirtualTiming())
    for (const step of steps) {
      if (typeof step === 'number') pacer.concurrency = step
      else {
        pacer.start()
        pacer.end(step as typeof refused)
      }
    }
    return pacer
  }

  it('is the new concurrency, unless the origin is throttled', () => {
    expect(pacerAfter(9).limit).toBe(9)
    expect(pacerAfter(1).limit).toBe(1)
    expect(pacerAfter(1, answered, 9).limit).toBe(9)
    expect(pacerAfter(refused, 9).limit).toBe(2)
  })

  it('stays throttled when the concurrency is raised after it was lowered below the throttle', () => {
    expect(pacerAfter(refused, 2, 9).limit).toBe(2)
    const lowered = pacerAfter(refused, 1, ...Array.from({ length: 50 }, () => answered))
    expect(lowered.limit).toBe(1)
    lowered.concurrency = 9
    expect(lowered.limit).toBe(2)
    expect(pacerAfter(refused, 1, 9, ...Array.from({ length: 100 }, () => answered)).limit).toBe(9)
  })
})
