import { describe, expect, it } from 'vitest'
import { cancelRun, pauseRun, resumeRun } from '../../../src/warmup/run/moves.ts'
import { gate, originOf, stored, urls } from '../../helpers/warmup-bench.ts'
import { until } from '../../helpers/until.ts'
import { bench, useBench } from './bench.ts'

useBench()

describe('pause and resume', () => {
  it('finishes requests in flight, starts none, and continues where it stopped', async () => {
    const { id } = await bench.newRun([{ urls: urls(60) }])
    const seen: string[] = []
    const held = gate()
    const under = gate()
    bench.startWorker(async (url) => {
      if (seen.push(url) === 20) under.open()
      if (seen.length >= 20) await held.passed
      return stored
    })
    await under.passed
    expect(await pauseRun(bench.records, id)).toMatchObject({ status: 'paused' })
    held.open()
    await until(async () => expect(await bench.messages()).toBe(0))
    const paused = await bench.progress(id)
    expect(paused).toMatchObject({ status: 'paused', processed_urls: seen.length, checked_urls: seen.length })
    expect(seen.length).toBeLessThan(60)
    expect(await resumeRun(bench.records, id, originOf)).toMatchObject({ status: 'running' })
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 60, skipped_urls: 0 })
    expect(seen.toSorted()).toEqual(urls(60).toSorted())
  })

  it('in quick succession loses and repeats nothing', async () => {
    const { id } = await bench.newRun([{ urls: urls(200) }])
    const seen: string[] = []
    bench.startWorker(async (url) => (seen.push(url), await new Promise((resolve) => setTimeout(resolve, 5)), stored))
    for (let time = 0; time < 10 && (await bench.progress(id)).status === 'running'; time++) {
      await bench.until(id, ({ checked_urls, status }) => status !== 'running' || checked_urls > time * 8)
      if ((await bench.progress(id)).status !== 'running') break
      await pauseRun(bench.records, id)
      await resumeRun(bench.records, id, originOf)
    }
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 200, checked_urls: 200 })
    expect(seen.toSorted()).toEqual(urls(200).toSorted())
    await until(async () => expect(await bench.messages()).toBe(0))
  })

  it('resuming completes a run whose last pages were finished after the pause', async () => {
    const { id } = await bench.newRun([{ urls: urls(4) }])
    const held = gate()
    let begun = 0
    bench.startWorker(async () => (begun++, await held.passed, stored))
    await until(() => expect(begun).toBe(4))
    await pauseRun(bench.records, id)
    held.open()
    await bench.until(id, ({ processed_urls }) => processed_urls === 4)
    expect(await bench.progress(id)).toMatchObject({ status: 'paused', percentage: 99.99, remaining_urls: 0 })
    expect(await resumeRun(bench.records, id, originOf)).toMatchObject({ status: 'completed', percentage: 100 })
  })

  it('withdraws waiting messages and queues them again', async () => {
    const { id } = await bench.newRun([{ urls: urls(50) }])
    expect(await bench.messages()).toBe(5)
    await pauseRun(bench.records, id)
    expect(await bench.messages()).toBe(0)
    await resumeRun(bench.records, id, originOf)
    expect(await bench.messages()).toBe(5)
  })
})

describe('cancel', () => {
  it('aborts requests in flight and starts none', async () => {
    const { id } = await bench.newRun([{ urls: urls(100) }])
    let begun = 0
    bench.startWorker(
      (_, { signal }) =>
        new Promise((resolve) => {
          begun++
          signal.addEventListener('abort', () =>
            resolve({ kind: 'failed', status: null, error: 'aborted', retryAfter: null, ms: 1 }),
          )
        }),
    )
    await until(() => expect(begun).toBe(4))
    expect(await cancelRun(bench.records, id)).toMatchObject({ status: 'cancelled', failed_urls: 0 })
    await until(async () => expect(await bench.messages()).toBe(0))
    expect(begun).toBe(4)
    expect(await bench.progress(id)).toMatchObject({
      status: 'cancelled',
      processed_urls: 0,
      failed_urls: 0,
      remaining_urls: 100,
    })
  })

  it('works on a paused run, and invalid status changes are rejected', async () => {
    const { id } = await bench.newRun([{ urls: urls(10) }])
    await expect(resumeRun(bench.records, id, originOf)).rejects.toMatchObject({ code: 'WRONG_STATE' })
    await pauseRun(bench.records, undefined)
    await expect(pauseRun(bench.records, id)).rejects.toMatchObject({
      code: 'WRONG_STATE',
      message: expect.stringContaining('is paused'),
    })
    expect(await cancelRun(bench.records, undefined)).toMatchObject({ id, status: 'cancelled' })
    for (const move of [
      () => pauseRun(bench.records, id),
      () => resumeRun(bench.records, id, originOf),
      () => cancelRun(bench.records, id),
    ])
      await expect(move()).rejects.toMatchObject({ code: 'WRONG_STATE' })
    await expect(cancelRun(bench.records, 'unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
