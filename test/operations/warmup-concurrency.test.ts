import { expect, it, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { changeWarmupConcurrency, listWarmups } from '../../src/operations/warmup.ts'
import { createRun } from '../../src/warmup/run/runs.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { noErrors, urls } from '../helpers/warmup-bench.ts'
import { perform } from './perform.ts'

it('sets or changes the concurrency of a run within its limits', async () => {
  const app = new App({ loaded: await loadConfig({ projectDir: await tempDir() }), onWarning: () => {} })
  onTestFinished(() => app.close())
  const { id: progressId } = await createRun(await app.records(), {
    salesChannelId: null,
    batchSize: 10,
    force: false,
    failure: null,
    discovery: { ...noErrors, total: 10 },
    lists: [{ channelId: 'a', origin: 'http://origin-a', urls: urls(10) }],
  })
  const change = async (input: { concurrency?: number | null; change?: number }) =>
    (await perform(app, changeWarmupConcurrency, { progressId, ...input })).progress.concurrency
  expect((await perform(app, listWarmups, {})).items[0]).toMatchObject({ concurrency: null })
  // Four as configured, and one more.
  expect(await change({ change: 1 })).toBe(5)
  expect(await change({ concurrency: 255 })).toBe(255)
  expect(await change({ change: 3 })).toBe(256)
  expect(await change({ change: -256 })).toBe(1)
  expect(await change({ change: -1 })).toBe(1)
  expect(await change({ concurrency: null })).toBe(null)
  expect((await perform(app, listWarmups, {})).items[0]).toMatchObject({ concurrency: null, status: 'running' })
  for (const input of [{}, { concurrency: 3, change: 1 }, { concurrency: 0 }, { concurrency: 257 }, { change: 1.5 }])
    await expect(change(input)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})
