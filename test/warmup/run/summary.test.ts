import { expect, it, onTestFinished } from 'vitest'
import { readWarmupSummary } from '../../../src/warmup/run/summary.ts'
import { scratch } from '../../helpers/scratch.ts'
import { WarmupBench } from '../../helpers/warmup-bench.ts'

it('a run without recent saves has no rate, and runs of every status are counted', async () => {
  const directory = await scratch('standing')
  const bench = await WarmupBench.open(directory.path)
  onTestFinished(async () => {
    await bench.close()
    await directory.discard()
  })
  expect((await readWarmupSummary(bench.records.db, 0)).runs).toEqual({
    running: 0,
    paused: 0,
    completed: 0,
    cancelled: 0,
    failed: 0,
  })
  await bench.newRun([{ urls: ['http://a/1', 'http://a/2', 'http://a/3'] }])
  await bench.records.db
    .updateTable('warmup_runs')
    .set({ urls_per_second: 12, failed_urls: 1, updated_at: 1_000_000 })
    .execute()
  expect(await readWarmupSummary(bench.records.db, 1_010_000)).toEqual({
    runs: { running: 1, paused: 0, completed: 0, cancelled: 0, failed: 0 },
    remaining: 2,
    failed: 1,
    urlsPerSecond: 12,
  })
  expect(await readWarmupSummary(bench.records.db, 1_031_000)).toMatchObject({ remaining: 2, urlsPerSecond: 0 })
})
