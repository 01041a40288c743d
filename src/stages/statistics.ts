import { dayLength } from '../lib/moment.ts'
import { PagecacheError } from '../errors.ts'
import type { Records } from '../records/open.ts'
import type { StageRow } from '../records/stage-rows.ts'
import {
  bucketFor,
  bucketNames,
  bucketOf,
  formatDay,
  parseDay,
  yearsAfter,
  type BucketKind,
  type DayRange,
} from './buckets.ts'
import { eventTypes, type EventType } from './stage.ts'
import { unknownStage } from './stages.ts'

type EventCounts = Record<EventType, number>

/** The events of a stage over a range of days. Rates are fractions of the impressions, 0 if there are none. */
export interface StageStatistics {
  popupId: string
  dateFrom: string
  dateTo: string
  totals: EventCounts
  rates: { ctr: number; closeRate: number; dismissRate: number }
  bucket: BucketKind
  series: ({ date: string } & EventCounts)[]
}

/** Longest range: 1,200 months make a response of about 120 KB, and no shop has more data. */
const maxYears = 100

/**
 * Reads the statistics of a stage from its hourly sums, which always match the events exactly. Both dates are UTC days and included.
 * By default the range starts with the stage or its first event, and ends today.
 *
 * @throws NOT_FOUND; INVALID_INPUT for an invalid date, a range that ends before it starts, or one of more than a hundred years
 */
export async function readStatistics(
  records: Records,
  asked: { popupId: string; dateFrom: string | null; dateTo: string | null },
): Promise<StageStatistics> {
  const from = readDay('dateFrom', asked.dateFrom)
  const to = readDay('dateTo', asked.dateTo)
  if (from !== null && to !== null && from > to)
    throw new PagecacheError('INVALID_INPUT', 'dateFrom: must not be after dateTo')
  const stage = await findStage(records, asked.popupId)
  const range = await resolveRange(records, stage, from, to)
  if (from !== null || to !== null) assertBounded(range, from === null ? 'dateTo' : 'dateFrom')
  const bucket = bucketFor(range)
  const rows = await readSums(records, stage.id, range, bucket === 'hour')
  const series = new Map(bucketNames(bucket, range).map((date) => [date, { date, ...zeroCounts() }]))
  const totals = zeroCounts()
  for (const row of rows) {
    const point = series.get(bucketOf(bucket, row.hour))!
    for (const type of eventTypes) {
      point[type] += row[type]
      totals[type] += row[type]
    }
  }
  return {
    popupId: stage.id,
    dateFrom: formatDay(range.from),
    dateTo: formatDay(range.to),
    totals,
    rates: {
      ctr: rate(totals.cta_click, totals),
      closeRate: rate(totals.close, totals),
      dismissRate: rate(totals.permanent_dismiss, totals),
    },
    bucket,
    series: [...series.values()],
  }
}

function readDay(name: string, text: string | null): number | null {
  const day = text === null ? null : parseDay(text)
  if (text !== null && day === null)
    throw new PagecacheError('INVALID_INPUT', `${name}: expected a date such as 2026-11-21`)
  return day
}

/** Finds a stage, including deleted ones whose events are kept. */
async function findStage({ db }: Records, id: string): Promise<Pick<StageRow, 'id' | 'created_at'>> {
  const stage = await db
    .selectFrom('vendor_stage')
    .select(['id', 'created_at'])
    .where('id', '=', id)
    .where(({ or, eb }) => or([eb('deleted', 'is', null), eb('deleted', '=', 'keep')]))
    .executeTakeFirst()
  if (stage === undefined) throw unknownStage(id)
  return stage
}

async function resolveRange(
  records: Records,
  stage: Pick<StageRow, 'id' | 'created_at'>,
  from: number | null,
  to: number | null,
): Promise<DayRange> {
  const today = Math.floor(records.now() / dayLength)
  const last = to ?? Math.max(today, from ?? today)
  return { from: from ?? Math.min(last, await firstDay(records, stage)), to: last }
}

/** Rejects a requested range that is too long. Without dates the whole history is counted. */
function assertBounded({ from, to }: DayRange, field: 'dateFrom' | 'dateTo'): void {
  if (to < yearsAfter(from, maxYears)) return
  throw new PagecacheError(
    'INVALID_INPUT',
    `${field}: from ${formatDay(from)} to ${formatDay(to)} is longer than the maximum of ${maxYears} years`,
  )
}

async function firstDay({ db }: Records, stage: Pick<StageRow, 'id' | 'created_at'>): Promise<number> {
  const { hour } = await db
    .selectFrom('vendor_stage_rollup')
    .where('popup_id', '=', stage.id)
    .select(({ fn }) => fn.min('hour').as('hour'))
    .executeTakeFirstOrThrow()
  const created = Math.floor(stage.created_at / dayLength)
  return hour === null ? created : Math.min(created, Math.floor(hour / 24))
}

/** Reads the sums of a range by hour, or by day with the first hour of each day. */
async function readSums(
  { db }: Records,
  stageId: string,
  { from, to }: DayRange,
  hourly: boolean,
): Promise<({ hour: number } & EventCounts)[]> {
  const within = db
    .selectFrom('vendor_stage_rollup')
    .where('popup_id', '=', stageId)
    .where('hour', '>=', from * 24)
    .where('hour', '<', (to + 1) * 24)
  if (hourly) return await within.select(['hour', ...eventTypes]).execute()
  const days = await within
    .select(({ eb, fn, lit }) => [
      eb('hour', '/', lit(24)).as('day'),
      fn.sum<number>('impression').as('impression'),
      fn.sum<number>('cta_click').as('cta_click'),
      fn.sum<number>('close').as('close'),
      fn.sum<number>('permanent_dismiss').as('permanent_dismiss'),
    ])
    .groupBy('day')
    .execute()
  return days.map(({ day, ...counts }) => ({ hour: Number(day) * 24, ...counts }))
}

function zeroCounts(): EventCounts {
  return { impression: 0, cta_click: 0, close: 0, permanent_dismiss: 0 }
}

/** Rounded to four decimals. */
function rate(count: number, { impression }: EventCounts): number {
  return impression === 0 ? 0 : Math.round((count / impression) * 10_000) / 10_000
}
