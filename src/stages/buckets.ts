import { dayLength, hourLength } from './sums.ts'

const bucketKinds = ['hour', 'day', 'week', 'month'] as const
export type BucketKind = (typeof bucketKinds)[number]

/** A range of whole days (UTC), counted from the epoch; `to` is included. */
export interface DayRange {
  from: number
  to: number
}

/** Days up to which a range is shown by the hour, and by the day (contract section 7). */
const mostHourly = 2
const mostDaily = 92
/** Years up to which it is shown by the week. */
const mostWeekly = 2

/** The day of `YYYY-MM-DD`, counted from the epoch; null for what is no date. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const time = Date.parse(`${text}T00:00:00Z`)
  // 30 February reads as a day of March where it reads at all.
  return Number.isNaN(time) || formatDay(time / dayLength) !== text ? null : time / dayLength
}

/** The day so many years after another one; 29 February becomes 1 March where the year has none. */
export function yearsAfter(day: number, years: number): number {
  const date = new Date(day * dayLength)
  return date.setUTCFullYear(date.getUTCFullYear() + years) / dayLength
}

export function formatDay(day: number): string {
  return new Date(day * dayLength).toISOString().slice(0, 10)
}

/** How fine a range is shown. */
export function bucketFor({ from, to }: DayRange): BucketKind {
  const days = to - from + 1
  if (days <= mostHourly) return 'hour'
  if (days <= mostDaily) return 'day'
  return to < yearsAfter(from, mostWeekly) ? 'week' : 'month'
}

/** The beginnings of a range's buckets as they are named: days as `YYYY-MM-DD`, hours with their time. Weeks begin on Monday. */
export function bucketNames(kind: BucketKind, { from, to }: DayRange): string[] {
  const names: string[] = []
  if (kind === 'hour') {
    for (let hour = from * 24; hour < (to + 1) * 24; hour += 1) names.push(hourName(hour))
    return names
  }
  for (let day = startOf(kind, from); day <= to; day = next(kind, day)) names.push(formatDay(day))
  return names
}

/** The name of the bucket that an hour, counted from the epoch, is in. */
export function bucketOf(kind: BucketKind, hour: number): string {
  return kind === 'hour' ? hourName(hour) : formatDay(startOf(kind, Math.floor(hour / 24)))
}

function hourName(hour: number): string {
  return new Date(hour * hourLength).toISOString()
}

function startOf(kind: Exclude<BucketKind, 'hour'>, day: number): number {
  if (kind === 'day') return day
  const date = new Date(day * dayLength)
  // The epoch was a Thursday.
  if (kind === 'week') return day - ((date.getUTCDay() + 6) % 7)
  return day - (date.getUTCDate() - 1)
}

function next(kind: Exclude<BucketKind, 'hour'>, day: number): number {
  if (kind === 'day') return day + 1
  if (kind === 'week') return day + 7
  const date = new Date(day * dayLength)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / dayLength
}
