import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { describe, expect, it } from 'vitest'
import type { App } from '../../src/app.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import type { Notification } from '../../src/notify/notification.ts'
import { doctor } from '../../src/operations/doctor.ts'
import type { WorkerPresence } from '../../src/queue/queue.ts'
import { TrafficRecorder } from '../../src/traffic/recorder.ts'
import { Traffic } from '../../src/traffic/traffic.ts'
import { notifyTask, reportLostWorkers } from '../../src/workers/notify.ts'
import { tasksOf } from '../../src/workers/tasks.ts'
import { openApp } from '../operations/pages-project.ts'
import { perform } from '../operations/perform.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { runRow } from '../warmup/run-row.ts'

const webhooks = [{ name: 'ops', url: 'http://127.0.0.1:9/hook' }]

async function project(notify: object = {}): Promise<App> {
  const directory = await tempDir()
  const reverseProxies = [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:9' }]
  const config = { reverseProxies, notify: { webhooks, diskFree: 0, ...notify } }
  await writeFile(join(directory, 'pagecache.yaml'), stringify(config))
  return openApp(directory)
}

/** Runs the task, and returns the notifications that it has queued. */
async function check(app: App): Promise<Notification[]> {
  const before = await queued(app)
  await notifyTask(app).run({ stop: new AbortController().signal })
  return (await queued(app)).slice(before.length)
}

async function queued(app: App): Promise<Notification[]> {
  const { db } = await app.records()
  const rows = await db
    .selectFrom('queue_messages')
    .select('payload')
    .where('type', '=', 'notify.send')
    .orderBy('id')
    .execute()
  return rows.map(({ payload }) => (JSON.parse(payload) as { notification: Notification }).notification)
}

async function addRun(
  app: App,
  id: string,
  run: { status?: 'completed' | 'failed'; failed_urls?: number; sales_channel_id?: string; ago?: number },
) {
  const { ago = 0, ...values } = run
  const at = Math.round(app.now()) - ago
  const { db } = await app.records()
  await db
    .insertInto('warmup_runs')
    .values(
      runRow({
        id,
        status: 'completed',
        sales_channel_id: 'shop',
        total_urls: 10,
        checked_urls: 10,
        processed_urls: 10,
        created_at: at,
        updated_at: at,
        finished_at: at,
        ...values,
      }),
    )
    .execute()
}

it('runs once a minute where a webhook is configured, and nowhere else', async () => {
  const task = tasksOf(await project()).find(({ name }) => name === 'pagecache.notify')
  expect(task!.nextAfter(Date.parse('2026-11-22T12:00:00Z'))).toBe(Date.parse('2026-11-22T12:01:00Z'))
  expect(tasksOf(await project({ webhooks: [] })).map(({ name }) => name)).not.toContain('pagecache.notify')
})

it('reports each failed warmup of a channel, and a later good one', async () => {
  const app = await project()
  await addRun(app, '01-old', { status: 'failed', ago: 2 * 86_400_000 })
  expect(await check(app)).toEqual([])
  await addRun(app, '02', { status: 'completed', failed_urls: 3 })
  expect(await check(app)).toMatchObject([
    { event: 'warmup', state: 'problem', subject: 'shop', text: expect.stringContaining('3 of 10 URLs') },
  ])
  expect(await check(app)).toEqual([])
  await addRun(app, '03', { status: 'failed' })
  expect(await check(app)).toMatchObject([{ state: 'problem', title: 'The warmup of sales channel shop failed' }])
  await addRun(app, '04', { status: 'completed' })
  expect(await check(app)).toMatchObject([{ event: 'warmup', state: 'recovered', subject: 'shop' }])
  expect(await check(app)).toEqual([])
})

it('reports no recovery of a channel whose last warmup is not among the latest of all', async () => {
  const app = await project()
  await addRun(app, '000', { status: 'failed' })
  expect(await check(app)).toMatchObject([{ event: 'warmup', state: 'problem', subject: 'shop' }])
  for (let number = 1; number <= 100; number += 1)
    await addRun(app, String(number).padStart(3, '0'), { sales_channel_id: 'other' })
  expect(await check(app)).toEqual([])
})

it('reports a proxy that does not answer for five minutes, and its return', async () => {
  const app = await project()
  const { db } = await app.records()
  const fails = async (minutes: number) => {
    const at = Math.round(app.now()) - minutes * 60_000
    await db.deleteFrom('reverse_proxy_states').execute()
    await db
      .insertInto('reverse_proxy_states')
      .values({
        name: 'varnish-1',
        failures: 7,
        failing_since: at,
        open_until: null,
        last_error: 'connection refused',
        last_failure_at: at,
        last_delivery_at: null,
      })
      .execute()
  }
  await fails(4)
  expect(await check(app)).toEqual([])
  await fails(6)
  expect(await check(app)).toMatchObject([
    { event: 'proxy', state: 'problem', subject: 'varnish-1', text: expect.stringContaining('connection refused') },
  ])
  expect(await check(app)).toEqual([])
  await db.deleteFrom('reverse_proxy_states').execute()
  expect(await check(app)).toMatchObject([{ event: 'proxy', state: 'recovered', subject: 'varnish-1' }])
})

it('reports a low hit ratio once, also where it moves around the limit, and not for a few requests', async () => {
  const app = await project({ hitRatio: '50%' })
  const traffic = new Traffic()
  const recorder = new TrafficRecorder({
    traffic,
    records: () => app.records(),
    now: app.now,
    monotonic: () => performance.now(),
    onError: expect.unreachable,
  })
  const visit = async (hits: number, misses: number) => {
    for (let count = 0; count < hits; count += 1) traffic.count('hit', 200, 1, 1, { channelId: 'shop', type: 'cms' })
    for (let count = 0; count < misses; count += 1) traffic.count('miss', 200, 1, 1, { channelId: 'shop', type: 'cms' })
    await recorder.write()
  }
  await visit(0, 50)
  expect(await check(app)).toEqual([])
  await visit(49, 1)
  expect(await check(app)).toMatchObject([
    {
      event: 'hit-ratio',
      state: 'problem',
      title: 'The hit ratio is below 50.0 %',
      text: expect.stringContaining('49.0 %'),
    },
  ])
  // 52 %: above the limit, but not by much.
  await visit(6, 0)
  expect(await check(app)).toEqual([])
  await visit(100, 0)
  expect(await check(app)).toMatchObject([{ event: 'hit-ratio', state: 'recovered' }])
})

it('reports a nearly full disk', async () => {
  expect(await check(await project({ diskFree: '1000TB' }))).toMatchObject([{ event: 'disk', state: 'problem' }])
})

describe('a lost process', () => {
  const lost = (id: string, pid: number): WorkerPresence => ({
    id,
    beat: 1,
    stopping: false,
    process: { ...thisProcess(), pid },
  })
  const { host } = thisProcess()

  /** Starts a worker on the machine, `ago` milliseconds before now. */
  async function startWorker(app: App, ago: number): Promise<void> {
    const { id } = await (await app.queue()).join({ kind: 'daemon', transports: ['async'], types: [] })
    const started_at = Math.round(app.now()) - ago
    await (await app.records()).db.updateTable('queue_workers').set({ started_at }).where('id', '=', id).execute()
  }

  /** Sets the time at which the loss was reported. */
  async function reportedAgo(app: App, ago: number): Promise<void> {
    const since = Math.round(app.now()) - ago
    await (await app.records()).db.updateTable('notified_problems').set({ since }).execute()
  }

  it('is reported once for a crash loop, until a process that was started afterwards lasts for 15 minutes', async () => {
    const app = await project()
    const seen: string[] = []
    const onEvent = reportLostWorkers(app, ({ kind }) => void seen.push(kind))
    const fortyMinutes = 40 * 60_000
    // It has run all the time, and says nothing about the process that ends.
    await startWorker(app, 2 * fortyMinutes)
    onEvent({ kind: 'buried', worker: lost('first', 42) })
    await until(async () => expect(await queued(app)).toHaveLength(1))
    expect(await queued(app)).toMatchObject([
      { event: 'node', state: 'problem', subject: host, text: expect.stringContaining('Process 42') },
    ])
    await reportedAgo(app, fortyMinutes)
    for (const [id, pid] of [
      ['second', 43],
      ['third', 44],
    ] as const) {
      onEvent({ kind: 'buried', worker: lost(id, pid) })
      await startWorker(app, 14 * 60_000)
      expect(await check(app)).toEqual([])
    }
    expect(seen).toEqual(['buried', 'buried', 'buried'])
    await startWorker(app, 16 * 60_000)
    expect(await check(app)).toMatchObject([{ event: 'node', state: 'recovered', subject: host }])
    onEvent({ kind: 'buried', worker: lost('later', 45) })
    await until(async () => expect(await queued(app)).toHaveLength(3))
  })
})

it('deletes notifications that failed more than 14 days ago, and no other failed message', async () => {
  const app = await project({ webhooks: [] })
  const { db } = await app.records()
  const queue = await app.queue()
  const fail = async (type: string, days: number) => {
    await queue.dispatch([{ transport: 'async', type, payload: days }])
    const failed_at = Math.round(app.now()) - days * 86_400_000
    const failed = { transport: 'failed', origin: 'async', failed_at } as const
    await db.updateTable('queue_messages').set(failed).where('transport', '=', 'async').execute()
  }
  for (const type of ['notify.send', 'purge.deliver']) for (const days of [13, 15]) await fail(type, days)
  const cleanUp = tasksOf(app).find(({ name }) => name === 'vendor_cache.cleanup_pages')!
  const { done, result } = await cleanUp.run({ stop: new AbortController().signal })
  expect([done, result]).toEqual([true, expect.stringContaining('failed notifications: 1 row removed')])
  const left = await db.selectFrom('queue_messages').select(['type', 'payload']).orderBy('id').execute()
  expect(left.map(({ type, payload }) => `${type} ${payload}`)).toEqual([
    'notify.send 13',
    'purge.deliver 13',
    'purge.deliver 15',
  ])
})

it('warns in doctor of webhooks that do not sign, without their URL', async () => {
  const app = await project({ webhooks: [{ name: 'ops', url: 'http://127.0.0.1:9/canary' }] })
  const { checks } = await perform(app, doctor, {})
  const found = checks.filter(({ name }) => name === 'notifications')
  expect(found).toMatchObject([{ status: 'warned', message: expect.stringContaining('Not signed: ops') }])
  expect(JSON.stringify(checks)).not.toContain('canary')
})
