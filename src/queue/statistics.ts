import type { QueueMessageRow, QueueWorkerRow } from '../records/queue-rows.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { hasEnded, thisProcess, type ProcessIdentity } from '../lib/process-identity.ts'
import { toIdentity } from './membership.ts'
import { transports, type QueueStatistics, type TransportStatistics, type WorkerStatistics } from './queue.ts'

/**
 * Reads the depth of each transport and the living workers. `now` is the wall clock in milliseconds since the epoch. Scans one index: a
 * hundred thousand messages take milliseconds.
 */
export async function readStatistics(db: RecordsDatabase, now: number): Promise<QueueStatistics> {
  const depths = await readDepths(db, now)
  const held = await readHeld(db)
  const statistics = [...transports, 'failed' as const].map((name) =>
    toStatistics(
      name,
      depths.find(({ transport }) => transport === name),
      held.filter(({ transport }) => transport === name).length,
      now,
    ),
  )
  const rows = await db.selectFrom('queue_workers').selectAll().orderBy('started_at').execute()
  const self = thisProcess()
  const workers = rows.filter((row) => isAlive(row, self, now)).map((row) => toWorker(row, held))
  return { transports: statistics, workers, failed: statistics.at(-1)!.count }
}

interface Depth {
  transport: string
  /** Messages that no worker holds. */
  count: number
  /** When the first of them was or is due. */
  oldest: number
  delayed: number | null
}

async function readDepths(db: RecordsDatabase, now: number): Promise<Depth[]> {
  return db
    .selectFrom('queue_messages')
    .select(({ fn, selectFrom, ref }) => [
      'transport',
      fn.countAll<number>().as('count'),
      fn.min('available_at').as('oldest'),
      selectFrom('queue_messages as later')
        .select(({ fn: inner }) => inner.countAll<number>().as('count'))
        .where('later.lease', 'is', null)
        .where('later.available_at', '>', now)
        .whereRef('later.transport', '=', ref('queue_messages.transport'))
        .as('delayed'),
    ])
    .where('lease', 'is', null)
    .groupBy('transport')
    .execute()
}

type HeldMessage = Pick<QueueMessageRow, 'id' | 'type' | 'group' | 'transport' | 'worker'>

async function readHeld(db: RecordsDatabase): Promise<HeldMessage[]> {
  return db
    .selectFrom('queue_messages')
    .select(['id', 'type', 'group', 'transport', 'worker'])
    .where('lease', 'is not', null)
    .execute()
}

function toStatistics(
  name: TransportStatistics['name'],
  depth: Depth | undefined,
  held: number,
  now: number,
): TransportStatistics {
  const count = Number(depth?.count ?? 0)
  const delayed = name === 'failed' ? 0 : Number(depth?.delayed ?? 0)
  const waiting = name === 'failed' ? 0 : count - delayed
  const oldestAge = depth && waiting > 0 ? Math.max(0, now - Number(depth.oldest)) : null
  return { name, count: count + held, waiting, delayed, held, oldestAge }
}

function toWorker(row: QueueWorkerRow, held: readonly HeldMessage[]): WorkerStatistics {
  return {
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
  }
}

/** Whether a living worker handles messages of this type. `now` in milliseconds since the epoch. */
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

/** A worker without a heartbeat for this long does not count as alive (milliseconds); a dead one stays listed until another worker removes it. */
const unseenFor = 30_000

function isAlive(row: QueueWorkerRow, self: ProcessIdentity, now: number): boolean {
  return !hasEnded(toIdentity(row), self) && Math.abs(now - row.seen_at) < unseenFor
}
