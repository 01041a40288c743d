import {
  latencyColumns,
  statusColumns,
  amountColumns,
  type TrafficAmounts,
  type TrafficRow,
  type TrafficMissRow,
} from '../records/traffic-rows.ts'
import { prepareRows } from '../records/statements.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { Miss } from './miss-window.ts'

/** How long minutes are kept, in minutes; longer ranges are read by the hour. */
export const minutesKept = 48 * 60
/** How long hours are kept, in hours. */
export const hoursKept = 400 * 24
/** How long the most frequent misses of an hour are kept, in hours. */
const missHoursKept = 31 * 24
/** Most misses of one hour. */
const missesPerHour = 200
/** Expired rows that one write removes from each table. More are removed by the next ones. */
const removedAtOnce = 500

/** What one process has counted in one minute and has not written yet. `start`: minutes since the epoch. */
export type MinuteRow = TrafficRow

/** Misses of one hour, in hours since the epoch. */
export interface HourMisses {
  hour: number
  misses: readonly Miss[]
}

/** Adds counts to their minutes and hours and removes what has expired, in one transaction. */
export async function writeTraffic(
  db: RecordsDatabase,
  { minutes, misses, now }: { minutes: readonly MinuteRow[]; misses: readonly HourMisses[]; now: number },
): Promise<void> {
  const minute = Math.floor(now / 60_000)
  const hour = Math.floor(minute / 60)
  await db.transaction().execute(async (transaction) => {
    await addMinutes.execute(transaction, minutes)
    await addHours.execute(
      transaction,
      minutes.map((row) => ({ ...row, start: Math.floor(row.start / 60) })),
    )
    for (const each of misses) await writeMisses(transaction, each)
    await removeBefore(transaction, 'traffic_minutes', minute - minutesKept)
    await removeBefore(transaction, 'traffic_hours', hour - hoursKept)
    await transaction
      .deleteFrom('traffic_misses')
      .where('hour', '=', (eb) =>
        eb
          .selectFrom('traffic_misses')
          .select('hour')
          .where('hour', '<', hour - missHoursKept)
          .limit(1),
      )
      .execute()
  })
}

const rowColumns = ['start', 'channel_id', 'type', 'result', ...amountColumns] as const

function adderTo(table: 'traffic_minutes' | 'traffic_hours') {
  return prepareRows<TrafficRow>(rowColumns, (rows, db) =>
    db
      .insertInto(table)
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['start', 'channel_id', 'type', 'result'])
          .doUpdateSet((eb) =>
            Object.fromEntries(
              amountColumns.map((column) => [
                column,
                eb(eb.ref(`${table}.${column}`), '+', eb.ref(`excluded.${column}`)),
              ]),
            ),
          ),
      ),
  )
}

const addMinutes = adderTo('traffic_minutes')
const addHours = adderTo('traffic_hours')

const addMisses = prepareRows<TrafficMissRow>(
  ['hour', 'channel_id', 'path', 'reason', 'requests', 'origin_us'],
  (rows, db) =>
    db
      .insertInto('traffic_misses')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['hour', 'channel_id', 'path', 'reason']).doUpdateSet((eb) => ({
          requests: eb('traffic_misses.requests', '+', eb.ref('excluded.requests')),
          origin_us: eb('traffic_misses.origin_us', '+', eb.ref('excluded.origin_us')),
        })),
      ),
)

/** Adds misses to an hour, which keeps only the most frequent ones. */
async function writeMisses(transaction: RecordsTransaction, { hour, misses }: HourMisses): Promise<void> {
  if (misses.length === 0) return
  await addMisses.execute(
    transaction,
    misses.map(({ channelId, path, reason, requests, originMs }) => ({
      hour,
      channel_id: channelId,
      path,
      reason,
      requests,
      origin_us: toMicroseconds(originMs),
    })),
  )
  const rare = await transaction
    .selectFrom('traffic_misses')
    .select(['channel_id', 'path', 'reason'])
    .where('hour', '=', hour)
    .orderBy('requests', 'desc')
    .offset(missesPerHour)
    .limit(removedAtOnce)
    .execute()
  for (const { channel_id, path, reason } of rare)
    await transaction
      .deleteFrom('traffic_misses')
      .where('hour', '=', hour)
      .where('channel_id', '=', channel_id)
      .where('path', '=', path)
      .where('reason', '=', reason)
      .execute()
}

async function removeBefore(
  transaction: RecordsTransaction,
  table: 'traffic_minutes' | 'traffic_hours',
  start: number,
): Promise<void> {
  const oldest = await transaction
    .selectFrom(table)
    .select('start')
    .where('start', '<', start)
    .orderBy('start')
    .limit(removedAtOnce)
    .execute()
  const last = oldest.at(-1)
  // A start has at most one row for each channel, type and result.
  if (last !== undefined) await transaction.deleteFrom(table).where('start', '<=', last.start).execute()
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000)
}

/** The amounts of a row. */
export function toAmounts(counts: {
  requests: number
  servedMs: number
  originMs: number
  bytes: number
  classes: Float64Array
  buckets: Float64Array
}): TrafficAmounts {
  return {
    requests: counts.requests,
    ...zip(statusColumns, counts.classes.subarray(1)),
    bytes: counts.bytes,
    origin_us: toMicroseconds(counts.originMs),
    served_us: toMicroseconds(counts.servedMs),
    ...zip(latencyColumns, counts.buckets),
  }
}

function zip<Column extends string>(columns: readonly Column[], values: Float64Array): Record<Column, number> {
  return Object.fromEntries(columns.map((column, index) => [column, values[index]!])) as Record<Column, number>
}
