import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { realTiming } from '../../../src/lib/timing.ts'
import { Pacer } from '../../../src/warmup/run/pacer.ts'
import { toFetchPage } from '../../../src/warmup/run/fetch-page.ts'
import { warm } from '../../../src/warmup/run/warm.ts'
import type { Slot } from '../../../src/cache/origin/slots.ts'
import type { Reply } from '../../cache/scripted-origin.ts'
import { openSite, shopUrl } from '../../cache/site.ts'
import { until } from '../../helpers/until.ts'

const page: Reply = { fields: { 'Cache-Control': 'public, max-age=60' }, body: 'page' }

/** Warms six URLs of a shop that takes this many requests at a time, beside as many visitors as the test says. */
async function start(maxConcurrent: number, requestsPerSecond: number | null = null, visitors = maxConcurrent) {
  const site = await openSite({ limits: { maxConcurrent, queue: 10, queueTimeout: 60_000 } })
  onTestFinished(() => site.close())
  const times: number[] = []
  const replies: Reply[] = []
  site.answers(() => {
    times.push(performance.now())
    return replies.shift() ?? page
  })
  const guest = { admitted: () => {}, refused: () => {} }
  const slots: Slot[] = Array.from({ length: visitors }, () => site.cache.origin.enter(site.origin.url, guest))
  const rules = { concurrency: 6, requestsPerSecond, crawlDelay: null, maxWait: 60_000, retries: 0 }
  const queue = Array.from({ length: 6 }, (_, index) => ({ url: `${shopUrl}/${index}` }))
  const outcomes: string[] = []
  const stop = new AbortController()
  const warming = warm({
    next: async () => queue.shift() ?? null,
    onDone: (_, { kind }) => void outcomes.push(kind),
    fetchPage: toFetchPage(site.cache, site.now, 5000),
    passes: [{}],
    force: false,
    rules,
    pacer: new Pacer(rules, realTiming),
    gate: () => null,
    observer: { began: () => () => {} },
    stop: stop.signal,
    abort: new AbortController().signal,
    timing: realTiming,
    random: () => 1,
  })
  return { warming, stop, times, outcomes, replies, leave: () => slots.forEach((slot) => slot.leave()) }
}

it('a pause ends the wait for visitors at once, and its URLs have no outcome', async () => {
  const { warming, stop, times, outcomes, leave } = await start(1)
  await sleep(50)
  stop.abort()
  await warming
  leave()
  await sleep(50)
  expect([times, outcomes]).toEqual([[], []])
})

it('Retry-After holds URLs that wait for room', async () => {
  const { warming, stop, times, replies, leave } = await start(1)
  replies.push({ status: 429, fields: { 'Retry-After': '20' } })
  leave()
  await until(() => expect(times).toHaveLength(1))
  await sleep(200)
  expect(times).toHaveLength(1)
  stop.abort()
  await warming
})

it('URLs that have waited for visitors are requested at the configured rate, and all of them', async () => {
  const { warming, times, outcomes, leave } = await start(6, 8)
  await sleep(400)
  leave()
  await warming
  expect(outcomes).toEqual(Array.from({ length: 6 }, () => 'processed'))
  // Five intervals of 125 ms.
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(550)
})

it('the only slot is given from one URL to the next', async () => {
  const { warming, times, outcomes } = await start(1, null, 0)
  await warming
  expect([times.length, outcomes.length]).toEqual([6, 6])
})
