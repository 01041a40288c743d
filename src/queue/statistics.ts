import type { QueueWorkerRow } from '../records/queue-rows.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { hasEnded, thisProcess, type ProcessIdentity } from './process-identity.ts'
import { transports, type QueueStatistics, type TransportStatistics, type WorkerStatistics } from './queue.ts'

/** `now` is the wall clock, milliseconds since the epoch. Reads one index through: a hundred thousand messages take milliseconds. */
export async function readStatistics(db: RecordsDatabase, now: number): Promise<QueueStatistics> {
  const waiting = await db
    .selectFrom('queue_messages')
    .select(({ fn, selectFrom, ref }) => [
      'transport',
      fn.countAll<number>().as('count'),
      fn.min('available_at').as('oldest'),
      selectFrom('queue_messages as put_off')
        .select(({ fn: inner }) => inner.countAll<number>().as('count'))
        .where('put_off.lease', 'is', null)
        .where('put_off.available_at', '>', now)
        .whereRef('put_off.transport', '=', ref('queue_messages.transport'))
        .as('delayed'),
    ])
    .where('lease', 'is', null)
    .groupBy('transport')
    .execute()
  const held = await db
    .selectFrom('queue_messages')
    .select(['id', 'type', 'group', 'transport', 'worker'])
    .where('lease', 'is not', null)
    .execute()
  const statistics = [...transports, 'failed' as const].map((name): TransportStatistics => {
    const row = waiting.find(({ transport }) => transport === name)
    const count = Number(row?.count ?? 0)
    const delayed = name === 'failed' ? 0 : Number(row?.delayed ?? 0)
    const inHand = held.filter(({ transport }) => transport === name).length
    const free = name === 'failed' ? 0 : count - delayed
    return {
      name,
      count: count + inHand,
      waiting: free,
      delayed,
      held: inHand,
      oldestAge: row && free > 0 ? Math.max(0, now - Number(row.oldest)) : null,
    }
  })
  const rows = await db.selectFrom('queue_workers').selectAll().orderBy('started_at').execute()
  const self = thisProcess()
  const workers = rows
    .filter((row) => isAlive(row, self, now))
    .map((row): WorkerStatistics => ({
      id: row.id,
      host: row.host,
      pid: row.pid,
      kind: row.kind,
      transports: JSON.parse(row.transports) as string[],
      types: JSON.parse(row.types) as string[],
      startedAt: row.started_at,
      seenAt: row.seen_at,
      stopping: row.stopping === 1,
      current: held.filter(({ worker }) => worker === row.id).map(({ id, type, group }) => ({ id, type, group })),
    }))
  return { transports: statistics, workers, failed: statistics.at(-1)!.count }
}

/** Whether a worker lives that takes messages of this type. `now` in milliseconds since the epoch. */
export async function hasWorkerFor(db: RecordsDatabase, type: string, now: number): Promise<boolean> {
  const rows = await db.selectFrom('queue_workers').selectAll().where('stopping', '=', 0).execute()
  const self = thisProcess()
  return rows.some(
    (row) =>
      (JSON.parse(row.types) as string[]).includes(type) &&
      (JSON.parse(row.transports) as string[]).includes('async') &&
      isAlive(row, self, now),
  )
}

/** A worker of another machine that died without a word stays on the list until some other worker notices. */
const unseenFor = 30_000

function isAlive(row: QueueWorkerRow, self: ProcessIdentity, now: number): boolean {
  const process = {
    host: row.host,
    bootId: row.boot_id,
    pidNamespace: row.pid_namespace,
    pid: row.pid,
    started: row.process_started,
  }
  return !hasEnded(process, self) && Math.abs(now - row.seen_at) < unseenFor
}
