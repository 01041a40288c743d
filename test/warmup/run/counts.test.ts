import { describe, expect, it } from 'vitest'
import { maxOpenings } from '../../../src/warmup/run/claim.ts'
import { topFailures } from '../../../src/warmup/run/failures.ts'
import { readLive } from '../../../src/warmup/run/live.ts'
import { reviveRuns } from '../../../src/warmup/run/revive.ts'
import { saveProgress } from '../../../src/warmup/run/save-progress.ts'
import { UrlBits } from '../../../src/warmup/run/url-bits.ts'
import type { WarmupProgress } from '../../../src/warmup/run/progress.ts'
import { originOf, rules, stored, urls } from '../../helpers/warmup-bench.ts'
import { until } from '../../helpers/until.ts'
import { bench, notFound, useBench } from './bench.ts'

useBench()

describe('counts', () => {
  const free = { hold: async () => {}, complete: async () => {} }
  const message = (batch: number) => ({ payload: { batch } }) as never
  const processed = { kind: 'processed', skipped: false } as const

  it('a URL reported by two workers counts once', async () => {
    const { id } = await bench.newRun([{ urls: urls(10) }])
    const taken = new UrlBits(10)
    for (const index of [0, 1, 2]) taken.add(index)
    const save = (indexes: number[]) =>
      saveProgress(bench.records, free, {
        runId: id,
        urlsPerSecond: 0,
        changes: [
          {
            message: message(0),
            number: 0,
            urls: urls(10),
            taken: taken.toString(),
            outcomes: new Map(indexes.map((index) => [index, processed])),
          },
        ],
      })
    expect(await save([0, 1])).toMatchObject({
      progress: { processed_urls: 2, checked_urls: 3 },
      finished: [],
      lost: [],
    })
    expect(await save([1, 2])).toMatchObject({ progress: { processed_urls: 3, checked_urls: 3 } })
    expect(await save([3, 4, 5, 6, 7, 8, 9])).toMatchObject({
      progress: { processed_urls: 10, status: 'completed' },
      finished: [0],
    })
  })

  it('progress reported under a lost lease is not counted', async () => {
    const { id } = await bench.newRun([{ urls: urls(10) }])
    const { PagecacheError } = await import('../../../src/errors.ts')
    const lost = {
      ...free,
      hold: () => Promise.reject<void>(new PagecacheError('LEASE_LOST', 'another worker has it')),
    }
    const change = {
      message: message(0),
      number: 0,
      urls: urls(10),
      taken: new UrlBits(10).toString(),
      outcomes: new Map([[0, processed]]),
    }
    expect(await saveProgress(bench.records, lost, { runId: id, urlsPerSecond: 0, changes: [change] })).toMatchObject({
      progress: { processed_urls: 0 },
      lost: [0],
    })
  })

  it('progress never decreases and always adds up, whatever fails', async () => {
    const { id } = await bench.newRun([{ urls: urls(400) }])
    const samples: WarmupProgress[] = []
    bench.startWorker(async (url) => (Number(url.slice(17)) % 5 === 0 ? notFound : stored))
    await bench.until(id, (progress) => {
      samples.push(progress)
      return progress.status !== 'running'
    })
    for (const [
      index,
      { total_urls, checked_urls, processed_urls, failed_urls, remaining_urls },
    ] of samples.entries()) {
      const before = samples[index - 1]
      expect(remaining_urls).toBe(total_urls - processed_urls - failed_urls)
      expect(checked_urls).toBeGreaterThanOrEqual(processed_urls + failed_urls)
      if (before)
        expect([
          checked_urls >= before.checked_urls,
          processed_urls >= before.processed_urls,
          failed_urls >= before.failed_urls,
        ]).toEqual([true, true, true])
    }
  })
})

describe('a batch that crashes workers', () => {
  it('is marked as failed after several crashes, its progress kept, and the run ends', async () => {
    const { id } = await bench.newRun([{ urls: urls(20) }])
    await bench.records.db
      .updateTable('warmup_batches')
      .set({ openings: maxOpenings })
      .where('number', '=', 0)
      .execute()
    const seen: string[] = []
    bench.startWorker(async (url) => (seen.push(url), stored))
    expect(await bench.ended(id)).toMatchObject({
      status: 'completed',
      processed_urls: 10,
      failed_urls: 10,
      checked_urls: 20,
    })
    expect(seen.toSorted()).toEqual(urls(20).slice(10).toSorted())
    expect((await topFailures(bench.records, id, 1))[0]!.error).toContain('workers in a row died')
  })
})

it('starting a worker queues messages for running runs that have none, and only for those', async () => {
  const { id } = await bench.newRun([{ urls: urls(30) }])
  expect(await reviveRuns(bench.records, originOf)).toBe(0)
  await bench.records.db.deleteFrom('queue_messages').execute()
  expect(await reviveRuns(bench.records, originOf)).toBe(1)
  bench.startWorker(async () => stored)
  expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 30 })
})

it('a pause requested by an origin applies to the next worker too', async () => {
  const { id } = await bench.newRun([{ urls: urls(10) }])
  await bench.records.db
    .insertInto('warmup_origins')
    .values({ origin: 'http://origin-a', not_before: Date.now() + 3_600_000, concurrency: 1, at: Date.now() })
    .execute()
  let asked = 0
  bench.startWorker(async () => (asked++, stored), { rulesFor: () => ({ ...rules, maxWait: 400 }) })
  const live = async () => readLive(bench.records, await bench.progress(id))
  await until(async () => expect((await live()).origins[0]?.limit).toBe(1))
  expect(await bench.ended(id)).toMatchObject({ processed_urls: 10 })
  expect(asked).toBe(10)
})

it('UrlBits survives being stored', () => {
  const set = new UrlBits(13)
  for (const index of [0, 7, 8, 12]) expect(set.add(index)).toBe(true)
  expect(set.add(8)).toBe(false)
  const again = new UrlBits(13, set.toString())
  expect(
    Array.from({ length: 13 }, (_, index) => again.has(index)).flatMap((done, index) => (done ? [index] : [])),
  ).toEqual([0, 7, 8, 12])
  expect([again.count, again.complete]).toEqual([4, false])
  for (let index = 0; index < 13; index++) again.add(index)
  expect(again.complete).toBe(true)
})
