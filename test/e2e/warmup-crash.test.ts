import { expect, it } from 'vitest'
import { crashWarmup } from '../crash/warmup-crash.ts'

// The long form, a hundred kills in a run of 20,000 URLs: npm run crash.
it('workers killed with SIGKILL at random: every URL is counted once, little is repeated, nothing is stuck', async () => {
  const { faults, progress, kills } = await crashWarmup({
    urls: 1500,
    kills: 6,
    workers: 2,
    concurrency: 4,
    latency: 25,
    seed: 7,
  })
  expect(faults).toEqual([])
  expect(kills).toBe(6)
  expect(progress).toMatchObject({
    status: 'completed',
    checked_urls: 1500,
    processed_urls: 1440,
    failed_urls: 60,
    remaining_urls: 0,
    percentage: 100,
  })
})
