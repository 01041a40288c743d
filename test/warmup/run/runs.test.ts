import { describe, expect, it } from 'vitest'
import { listFailures, topFailures } from '../../../src/warmup/run/failures.ts'
import { readLive } from '../../../src/warmup/run/live.ts'
import { createRun, listRuns, readProgress } from '../../../src/warmup/run/runs.ts'
import { gate, noErrors, rules, stored, urls } from '../../helpers/warmup-bench.ts'
import { until } from '../../helpers/until.ts'
import { bench, notFound, useBench } from './bench.ts'

useBench()

describe('a new run', () => {
  it('has batches alternating between channels, with a message for each', async () => {
    const run = await bench.newRun([
      { urls: urls(25) },
      { channelId: 'b', origin: 'http://origin-b', urls: urls(12, 'b.example') },
    ])
    expect(run).toMatchObject({
      status: 'running',
      total_urls: 37,
      checked_urls: 0,
      remaining_urls: 37,
      percentage: 0,
      finished_at: null,
    })
    const batches = await bench.records.db
      .selectFrom('warmup_batches')
      .select(['sales_channel_id', 'size', 'urls'])
      .orderBy('number')
      .execute()
    expect(batches.map(({ sales_channel_id, size }) => [sales_channel_id, size])).toEqual([
      ['a', 10],
      ['b', 10],
      ['a', 10],
      ['b', 2],
      ['a', 5],
    ])
    expect(JSON.parse(batches[0]!.urls)).toEqual(urls(10))
    const messages = await bench.records.db
      .selectFrom('queue_messages')
      .select(['type', 'group', 'payload'])
      .orderBy('id')
      .execute()
    expect(messages.map(({ type, group }) => `${type} ${group}`)).toEqual(
      ['a', 'b', 'a', 'b', 'a'].map((origin) => `warmup.batch origin:http://origin-${origin}`),
    )
    expect(await bench.progress()).toEqual(run)
  })

  it('is completed without URLs, and failed if discovery failed', async () => {
    expect(await bench.newRun([])).toMatchObject({ status: 'completed', percentage: 100, total_urls: 0 })
    expect(await bench.newRun([], { failure: 'no sitemap' })).toMatchObject({
      status: 'failed',
      percentage: 0,
      message: 'no sitemap',
    })
    expect(await bench.progress()).toMatchObject({ status: 'failed' })
    expect(await bench.messages()).toBe(0)
  })

  it('is listed before all earlier ones, of the same millisecond too', async () => {
    const ids: string[] = []
    const records = { ...bench.records, now: () => 1 }
    const run = { salesChannelId: null, batchSize: 10, force: false, discovery: { ...noErrors, total: 0 }, lists: [] }
    for (let number = 0; number < 20; number++) ids.unshift((await createRun(records, { ...run, failure: 'none' })).id)
    expect((await listRuns(records, { limit: 20, offset: 0 })).items.map(({ id }) => id)).toEqual(ids)
    expect(await readProgress(records)).toMatchObject({ id: ids[0] })
  })

  it('is written completely or not at all', async () => {
    const broken = (function* () {
      yield* urls(500)
      throw new Error('broken off')
    })()
    const discovery = { ...noErrors, total: 500 }
    await expect(
      createRun(bench.records, {
        salesChannelId: null,
        batchSize: 10,
        force: false,
        failure: null,
        discovery,
        lists: [{ channelId: 'a', origin: 'http://a', urls: broken }],
      }),
    ).rejects.toThrow('broken off')
    expect(await readProgress(bench.records)).toBeNull()
    expect(await bench.messages()).toBe(0)
  })
})

describe('processing a run', () => {
  it('warms every URL once, completes it and leaves the queue empty', async () => {
    const { id } = await bench.newRun([
      { urls: urls(95) },
      { channelId: 'b', origin: 'http://origin-b', urls: urls(20, 'b.example') },
    ])
    const seen: string[] = []
    bench.startWorker(async (url) => (seen.push(url), url.endsWith('/1') ? { kind: 'fresh' } : stored))
    const end = await bench.ended(id)
    expect(seen.toSorted()).toEqual([...urls(95), ...urls(20, 'b.example')].toSorted())
    expect(end).toMatchObject({
      status: 'completed',
      total_urls: 115,
      checked_urls: 115,
      processed_urls: 115,
      skipped_urls: 2,
      failed_urls: 0,
      remaining_urls: 0,
      percentage: 100,
    })
    expect(end.finished_at).not.toBeNull()
    await until(async () => expect(await bench.messages()).toBe(0))
    const live = await readLive(bench.records, end)
    expect(live).toMatchObject({ results: { fetched: 113, fresh: 2 }, workers: [{ done: 115 }], eta: null })
  })

  it('stores and lists why each URL failed', async () => {
    const { id } = await bench.newRun([{ urls: urls(30) }])
    bench.startWorker(async (url) =>
      Number(url.slice(17)) % 3 > 0
        ? stored
        : url.endsWith('0')
          ? notFound
          : { kind: 'not-stored', status: 200, reason: 'Set-Cookie', ms: 1 },
    )
    expect(await bench.ended(id)).toMatchObject({
      status: 'completed',
      processed_urls: 20,
      failed_urls: 10,
      checked_urls: 30,
      percentage: 100,
    })
    expect(await topFailures(bench.records, id, 5)).toEqual([
      { error: 'Set-Cookie', count: 9 },
      { error: 'answered 404', count: 1 },
    ])
    const find = (filter: Parameters<typeof listFailures>[3]) =>
      listFailures(bench.records, id, { limit: 100, offset: 0 }, filter)
    expect(await find({})).toMatchObject({ total: 10 })
    expect(await find({ status: 404 })).toMatchObject({
      total: 1,
      items: [{ url: 'http://a.example/0', variant: 0, error: 'answered 404', attempts: 1 }],
    })
    expect(await find({ error: 'set-COOKIE', url: 'example/2' })).toMatchObject({ total: 3 })
    expect(await find({ error: '%' })).toMatchObject({ total: 0 })
    expect(await readLive(bench.records, await bench.progress(id))).toMatchObject({
      results: { notStored: { 'set-cookie': 9 }, failed: { 404: 1 } },
    })
  })

  it('counts a page as cached that was purged during its first fetches, even without retries', async () => {
    const { id } = await bench.newRun([{ urls: urls(12) }])
    let fetches = 0
    bench.startWorker(async (url) =>
      url.endsWith('/7') && ++fetches <= 2
        ? { kind: 'not-stored', status: 200, reason: 'invalidated while it was fetched', transient: 'purge', ms: 1 }
        : stored,
    )
    expect(await bench.ended(id)).toMatchObject({
      status: 'completed',
      checked_urls: 12,
      processed_urls: 12,
      failed_urls: 0,
    })
    expect(fetches).toBe(3)
  })

  it('resumes after a stop without losing or double-counting URLs', async () => {
    const { id } = await bench.newRun([{ urls: urls(100) }])
    const seen: string[] = []
    const half = gate()
    const first = bench.startWorker(async (url) => {
      if (seen.push(url) === 37) half.open()
      return stored
    })
    await half.passed
    await first.stop()
    expect(await bench.progress(id)).toMatchObject({
      status: 'running',
      processed_urls: seen.length,
      checked_urls: seen.length,
    })
    bench.startWorker(async (url) => (seen.push(url), stored))
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 100 })
    expect(seen.toSorted()).toEqual(urls(100).toSorted())
  })

  it('is shared by several workers within the limit of each origin', async () => {
    const { id } = await bench.newRun([
      { urls: urls(300) },
      { channelId: 'b', origin: 'http://origin-b', urls: urls(300, 'b.example') },
    ])
    const seen: string[] = []
    const [now, most] = [new Map<string, number>(), new Map<string, number>()]
    const fetchPage = async (url: string) => {
      const { host } = new URL(url)
      seen.push(url)
      now.set(host, (now.get(host) ?? 0) + 1)
      most.set(host, Math.max(most.get(host) ?? 0, now.get(host)!))
      await new Promise((resolve) => setTimeout(resolve, 1))
      now.set(host, now.get(host)! - 1)
      return stored
    }
    for (let worker = 0; worker < 3; worker++) bench.startWorker(fetchPage)
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 600 })
    expect(seen.toSorted()).toEqual([...urls(300), ...urls(300, 'b.example')].toSorted())
    expect([...most.values()]).toEqual([rules.concurrency, rules.concurrency])
  })

  it('processes two runs at one origin one after the other', async () => {
    const [one, two] = [await bench.newRun([{ urls: urls(40) }]), await bench.newRun([{ urls: urls(40, 'b.example') }])]
    const seen: string[] = []
    bench.startWorker(async (url) => (seen.push(new URL(url).host), stored))
    expect(await bench.ended(two.id)).toMatchObject({ status: 'completed', processed_urls: 40 })
    expect(await bench.progress(one.id)).toMatchObject({ status: 'completed', processed_urls: 40 })
    expect(seen.lastIndexOf('a.example')).toBeLessThan(seen.indexOf('b.example'))
  })

  it('saves progress when a bug ends it, and the message is retried', async () => {
    const { id } = await bench.newRun([{ urls: urls(100) }])
    const seen: string[] = []
    const worker = bench.startWorker(async (url) => {
      if (seen.push(url) === 20) throw new TypeError('our bug')
      return stored
    })
    expect(await bench.ended(id)).toMatchObject({ status: 'completed', processed_urls: 100 })
    expect(worker.events).toContainEqual(expect.objectContaining({ kind: 'retried', error: 'our bug' }))
    expect(seen).toHaveLength(101)
  })
})
