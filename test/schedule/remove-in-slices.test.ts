import { expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import { nextLimit, removeInSlices } from '../../src/schedule/remove-in-slices.ts'
import { realTiming } from '../../src/lib/timing.ts'
import { pruneRuns } from '../../src/warmup/run/prune-runs.ts'
import { start, testQueue } from '../queue/open-queue.ts'
import { runRow } from '../warmup/run-row.ts'

it('a slice grows until it takes four milliseconds, and shrinks at once', () => {
  expect(nextLimit(100, 1)).toBe(200)
  expect(nextLimit(100, 0)).toBe(200)
  expect(nextLimit(100, 4)).toBe(100)
  expect(nextLimit(100, 16)).toBe(25)
  expect(nextLimit(100, 4000)).toBe(10)
  expect(nextLimit(2000, 1)).toBe(2000)
})

it('continues until nothing is left, pauses between slices, and waits for locked records', async () => {
  const { records } = await testQueue()
  let rows = 1000
  let calls = 0
  let turns = 0
  const timing = {
    ...realTiming,
    sleep: async (milliseconds: number, signal: AbortSignal) => (turns++, realTiming.sleep(milliseconds, signal)),
  }
  const removeSlice = async (_: unknown, { before, limit }: { before: number; limit: number }) => {
    expect(before).toBe(42)
    if (++calls === 2) throw new PagecacheError('STORE_BUSY', 'locked')
    const slice = Math.min(rows, limit)
    rows -= slice
    return slice
  }
  expect(
    await removeInSlices(removeSlice, { records, before: 42, timing, stop: new AbortController().signal }),
  ).toEqual({ removed: 1000, done: true })
  expect(turns).toBe(calls - 1)
})

it('returns when it is stopped', async () => {
  const { records } = await testQueue()
  const stop = new AbortController()
  let calls = 0
  const endless = async () => {
    if (++calls === 3) stop.abort()
    return 1
  }
  expect(await removeInSlices(endless, { records, before: 0, timing: realTiming, stop: stop.signal })).toEqual({
    removed: 3,
    done: false,
  })
})

it('removes old ended warmups with their dependent rows and keeps running and paused ones', async () => {
  const { records } = await testQueue()
  const { db } = records
  const statuses = [
    ['old', 'completed', start - 10],
    ['young', 'completed', start + 10],
    ['broken', 'failed', start - 10],
    ['paused', 'paused', null],
    ['running', 'running', null],
  ] as const
  for (const [id, status, finished] of statuses) {
    await db
      .insertInto('warmup_runs')
      .values(
        runRow({ id, status, total_urls: 3, created_at: start - 99, updated_at: start - 99, finished_at: finished }),
      )
      .execute()
    for (let number = 0; number < 3; number++) {
      await db
        .insertInto('warmup_failures')
        .values({
          id: `${id}-${number}`,
          run_id: id,
          url: 'http://shop.example/',
          variant: 0,
          status: 500,
          error: 'HTTP 500',
          attempts: 3,
          at: start,
        })
        .execute()
    }
  }
  const slices: number[] = []
  const prune = async (...args: Parameters<typeof pruneRuns>) => {
    const rows = await pruneRuns(args[0], { ...args[1], limit: 2 })
    slices.push(rows)
    return rows
  }
  await removeInSlices(prune, { records, before: start, timing: realTiming, stop: new AbortController().signal })
  expect(slices).toEqual([2, 1, 1, 2, 1, 1, 0])
  expect((await db.selectFrom('warmup_runs').select('id').orderBy('id').execute()).map(({ id }) => id)).toEqual([
    'paused',
    'running',
    'young',
  ])
  expect(await db.selectFrom('warmup_failures').select('id').execute()).toHaveLength(9)
})
