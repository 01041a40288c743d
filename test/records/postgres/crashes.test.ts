import { sql } from 'kysely'
import { expect, inject, it, onTestFinished } from 'vitest'
import type { Handler } from '../../../src/queue/queue.ts'
import { lockingTransaction, unsyncedTransaction } from '../../../src/records/locks.ts'
import { durable, execute, startPostgres } from '../../helpers/postgres.ts'
import { until } from '../../helpers/until.ts'
import { openQueueAt, readCounted, startCounters } from './counters.ts'

const messages = 300

it('a server that crashes between claims and ends of messages loses none, and no effect is written twice', async () => {
  if (inject('postgres') === null) return
  // The server writes what is not synced only after ten seconds, so that a crash loses it.
  const server = (await startPostgres({ ...durable, wal_writer_delay: '10s' }))!
  onTestFinished(() => server.stop())
  const url = server.url('postgres')
  await execute(url, 'create table counted (payload bigint)')
  const stop = new AbortController()
  const handled = new Map<number, number>()
  const open = () => openQueueAt(url, 4)
  const quick: Handler = {
    type: 'quick',
    concurrency: 2,
    handle: async ({ message }) => {
      const payload = message.payload as number
      handled.set(payload, (handled.get(payload) ?? 0) + 1)
    },
  }
  const consumers = await startCounters(open, stop.signal, [quick])
  const { records, queue } = await open()
  const setting = sql<{ synchronous_commit: string }>`show synchronous_commit`
  const synced = await lockingTransaction(records.db).execute((transaction) => setting.execute(transaction))
  const unsynced = await unsyncedTransaction(records.db).execute((transaction) => setting.execute(transaction))
  expect([...synced.rows, ...unsynced.rows].map((row) => row.synchronous_commit)).toEqual(['on', 'off'])
  await queue.dispatch(
    Array.from({ length: messages }, (_, payload) => ({
      transport: 'async' as const,
      type: payload % 3 === 0 ? 'count' : 'quick',
      payload,
      ...(payload % 5 === 0 && { group: `g${payload % 2}` }),
    })),
  )
  for (const share of [0.1, 0.4]) {
    await until(() => handled.size > messages * share)
    await server.crash()
  }
  await until(async () => {
    const { count } = await records.db
      .selectFrom('queue_messages')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
      .catch(() => ({ count: null }))
    return Number(count ?? 1) === 0
  })
  stop.abort()
  await Promise.all(consumers)
  const counts = Array.from({ length: messages / 3 }, (_, index) => index * 3)
  expect(await readCounted(url)).toEqual(counts)
  expect(handled.size).toBe(messages - counts.length)
})
