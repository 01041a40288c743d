import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openRecords, type Records } from '../../src/records/open.ts'
import { claimBatch, createRun, readProgress, type NewRun } from '../../src/warmup/runs.ts'
import { listFailures, saveProgress, setStatus, topFailures } from '../../src/warmup/save-progress.ts'
import { DoneSet } from '../../src/warmup/done-set.ts'
import { realTiming } from '../../src/warmup/timing.ts'
import type { WarmupProgress } from '../../src/warmup/progress.ts'
import type { WarmResult } from '../../src/warmup/warm-result.ts'
import { workRun, type WorkRunOptions } from '../../src/warmup/work-run.ts'

let directory: string
let records: Records
let now: number

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'pagecache-runs-'))
  now = Date.parse('2026-11-21T10:00:00Z')
  records = await openRecords({ directory, now: () => now++ })
})

afterEach(async () => {
  await records.close()
  rmSync(directory, { recursive: true, force: true })
})

const a = 'channel-a'
const b = 'channel-b'
const urls = (count: number, host = 'a.example') => Array.from({ length: count }, (_, i) => `http://${host}/${i}`)
const noErrors = { foreign: 0, refused: 0, disallowed: 0, duplicates: 0, files: 1, errors: [], otherTypes: 0, crawlDelays: {} }

function newRun(lists: NewRun['lists'], options: Partial<NewRun> = {}): Promise<WarmupProgress> {
  const total = lists.reduce((sum, list) => sum + [...list.urls].length, 0)
  return createRun(records, { salesChannelId: null, batchSize: 10, force: false, failure: null, discovery: { ...noErrors, total }, lists, ...options })
}

const stored: WarmResult = { kind: 'stored', status: 200, ms: 1 }
const rules = { concurrency: 4, requestsPerSecond: null, crawlDelay: null, retries: 0, longestWait: 60_000 }
const never = new AbortController().signal

function work(runId: string, fetchPage: WorkRunOptions['fetchPage'], options: Partial<WorkRunOptions> = {}): Promise<WarmupProgress> {
  return workRun({
    records, runId, fetchPage, origins: [{ channelIds: [a, b], rules }], passes: [{}], force: false, stop: never, abort: never, timing: realTiming, random: Math.random, onProgress: () => {},
    ...options,
  })
}

describe('a new run', () => {
  test('is there with its batches, those of several channels in turn', async () => {
    const run = await newRun([{ channelId: a, urls: urls(25) }, { channelId: b, urls: urls(12, 'b.example') }])
    expect(run).toMatchObject({ status: 'running', total_urls: 37, checked_urls: 0, remaining_urls: 37, percentage: 0, finished_at: null })
    const batches = await records.db.selectFrom('warmup_batches').select(['sales_channel_id', 'size', 'urls']).orderBy('number').execute()
    expect(batches.map(({ sales_channel_id, size }) => [sales_channel_id, size])).toEqual([[a, 10], [b, 10], [a, 10], [b, 2], [a, 5]])
    expect(JSON.parse(batches[0]!.urls)).toEqual(urls(10))
    expect(await readProgress(records)).toEqual(run)
  })

  test('without a URL is completed at once, a broken one failed', async () => {
    expect(await newRun([])).toMatchObject({ status: 'completed', percentage: 100, total_urls: 0 })
    expect(await newRun([], { failure: 'no sitemap' })).toMatchObject({ status: 'failed', percentage: 0, message: 'no sitemap' })
    expect(await readProgress(records)).toMatchObject({ status: 'failed' })
  })

  test('that cannot be written as a whole is not there at all', async () => {
    const broken = (function* () {
      yield* urls(500)
      throw new Error('broken off')
    })()
    await expect(createRun(records, { salesChannelId: null, batchSize: 10, force: false, failure: null, discovery: { ...noErrors, total: 500 }, lists: [{ channelId: a, urls: broken }] })).rejects.toThrow('broken off')
    expect(await readProgress(records)).toBeNull()
  })

  test('there is none with an unknown id', async () => {
    expect(await readProgress(records, 'unknown')).toBeNull()
  })
})

describe('a run whose records cannot be written any more', () => {
  test('ends with that error while pages are still under way, and nothing else is thrown', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(20) }])
    const full = new Error('database or disk is full')
    let fetches = 0
    const failing: Records = { ...records, now: records.now, db: records.db, close: () => records.close() }
    const answer = async (): Promise<WarmResult> => {
      if (++fetches === 1) Object.defineProperty(failing, 'db', { value: { transaction: () => { throw full } } })
      // Longer than the time between two saves: the first of them fails before any page is there.
      await new Promise((resolve) => setTimeout(resolve, 600))
      return stored
    }
    await expect(work(id, answer, { records: failing })).rejects.toThrow('database or disk is full')
  })
})

describe('a batch', () => {
  const claim = (runId: string, lease: string, channelIds = [a, b]) => claimBatch(records, { runId, channelIds, lease, leaseFor: 1000 })
  const change = (number: number, done: string, processed: number) => ({ number, done, complete: false, inHand: 0, processed, skipped: 0, failed: 0, failures: [], release: false })

  test('is given to one worker at a time, by channel', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(20) }, { channelId: b, urls: urls(10) }])
    expect((await claim(id, 'x', [b]))?.number).toBe(1)
    expect((await claim(id, 'y'))?.number).toBe(0)
    expect((await claim(id, 'z'))?.number).toBe(2)
    expect(await claim(id, 'z')).toBeNull()
  })

  test('of a worker that is gone goes to another, and what the first one still says counts nothing', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(10) }])
    const first = await claim(id, 'first')
    const half = new DoneSet(10)
    half.add(0)
    const save = (lease: string, changes: ReturnType<typeof change>[]) => saveProgress(records, { runId: id, lease, leaseFor: 1000, urlsPerSecond: 0, changes })
    await save('first', [change(first!.number, half.toString(), 1)])
    now += 2000
    const second = await claim(id, 'second')
    expect(second).toEqual({ ...first, done: half.toString() })
    half.add(1)
    expect(await save('first', [change(0, half.toString(), 1)])).toMatchObject({ lost: [0], progress: { processed_urls: 1 } })
    expect(await save('second', [change(0, half.toString(), 1)])).toMatchObject({ lost: [], progress: { processed_urls: 2 } })
  })

  test('is not given out while the run is not running', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(10) }])
    await setStatus(records, id, 'paused', 'interrupted')
    expect(await claim(id, 'x')).toBeNull()
    expect(await readProgress(records, id)).toMatchObject({ status: 'paused', message: 'interrupted', finished_at: null })
  })
})

describe('working a run', () => {
  test('warms every URL once and completes it', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(95) }, { channelId: b, urls: urls(20, 'b.example') }])
    const seen: string[] = []
    const reports: WarmupProgress[] = []
    const end = await work(id, async (url) => (seen.push(url), url.endsWith('/1') ? { kind: 'fresh' } : stored), { onProgress: (progress) => reports.push(progress) })
    expect(seen.toSorted()).toEqual([...urls(95), ...urls(20, 'b.example')].toSorted())
    expect(end).toMatchObject({ status: 'completed', total_urls: 115, checked_urls: 115, processed_urls: 115, skipped_urls: 2, failed_urls: 0, remaining_urls: 0, percentage: 100 })
    expect(end.finished_at).not.toBeNull()
    expect(reports.at(-1)).toEqual(end)
    expect(await readProgress(records, id)).toEqual(end)
  })

  test('keeps why each URL failed', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(30) }])
    const end = await work(id, async (url) => (Number(url.slice(17)) % 3 > 0 ? stored : url.endsWith('0') ? { kind: 'failed', status: 404, error: 'answered 404', retryAfter: null, ms: 1 } : { kind: 'not-stored', status: 200, reason: 'Set-Cookie', ms: 1 }))
    expect(end).toMatchObject({ status: 'completed', processed_urls: 20, failed_urls: 10, checked_urls: 30, percentage: 100 })
    expect(await topFailures(records, id, 5)).toEqual([{ error: 'Set-Cookie', count: 9 }, { error: 'answered 404', count: 1 }])
    const failures = await listFailures(records, id, { limit: 100, offset: 0 })
    expect(failures.total).toBe(10)
    expect(failures.items.find(({ status }) => status === 404)).toMatchObject({ url: 'http://a.example/0', variant: 0, error: 'answered 404', attempts: 1 })
  })

  test('stopped in the middle loses nothing and counts nothing twice', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(100) }])
    const seen: string[] = []
    const stop = new AbortController()
    const half = await work(id, async (url) => {
      if (seen.push(url) === 37) stop.abort()
      return stored
    }, { stop: stop.signal })
    expect(half.status).toBe('running')
    expect(half.processed_urls).toBe(seen.length)
    expect(half.checked_urls).toBe(seen.length)
    const end = await work(id, async (url) => (seen.push(url), stored))
    expect(end).toMatchObject({ status: 'completed', processed_urls: 100 })
    expect(seen.toSorted()).toEqual(urls(100).toSorted())
  })

  test('by two workers at once shares it', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(200) }])
    const seen: string[] = []
    const fetchPage = async (url: string) => (seen.push(url), await new Promise((resolve) => setImmediate(resolve)), stored)
    await Promise.all([work(id, fetchPage), work(id, fetchPage)])
    expect(await readProgress(records, id)).toMatchObject({ status: 'completed', processed_urls: 200 })
    expect(seen.toSorted()).toEqual(urls(200).toSorted())
  })

  test('ends soon after it was paused from elsewhere', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(50_000) }], { batchSize: 1000 })
    let asked = 0
    const end = await work(id, async () => {
      if (++asked === 100) await setStatus(records, id, 'paused', 'paused')
      return stored
    })
    expect(end.status).toBe('paused')
    expect(end.processed_urls).toBe(asked)
    expect(asked).toBeLessThan(50_000)
  })

  test('writes what was done when a bug ends it', async () => {
    const { id } = await newRun([{ channelId: a, urls: urls(100) }])
    let asked = 0
    const broken = work(id, async () => {
      if (++asked === 20) throw new TypeError('our bug')
      return stored
    })
    await expect(broken).rejects.toThrow('our bug')
    expect((await readProgress(records, id))!.processed_urls).toBeGreaterThanOrEqual(19)
  })
})

test('a set of done URLs survives being stored', () => {
  const set = new DoneSet(13)
  for (const index of [0, 7, 8, 12]) set.add(index)
  const again = new DoneSet(13, set.toString())
  expect(Array.from({ length: 13 }, (_, index) => again.has(index)).flatMap((done, index) => (done ? [index] : []))).toEqual([0, 7, 8, 12])
  expect(again.complete).toBe(false)
  for (let index = 0; index < 13; index++) if (!again.has(index)) again.add(index)
  expect(again.complete).toBe(true)
})
