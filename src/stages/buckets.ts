import { dayLength, hourLength } from '../lib/moment.ts'

const bucketKinds = ['hour', 'day', 'week', 'month'] as const
export type BucketKind = (typeof bucketKinds)[number]

/** A range of whole days (UTC) since the epoch, `to` included. */
export interface DayRange {
  from: number
  to: number
}

/** Longest range in days shown by the hour, and by the day. */
const maxHourlyDays = 2
const maxDailyDays = 92
/** Longest range in years shown by the week. */
const maxWeeklyYears = 2

/** Parses `YYYY-MM-DD` to a day since the epoch; null if it is not a date. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const time = Date.parse(`${text}T00:00:00Z`)
  // `Date.parse` may accept 30 February as a day in March.
  return Number.isNaN(time) || formatDay(time / dayLength) !== text ? null : time / dayLength
}

/** Adds years to a day; 29 February becomes 1 March in a year without it. */
export function yearsAfter(day: number, years: number): number {
  const date = new Date(day * dayLength)
  return date.setUTCFullYear(date.getUTCFullYear() + years) / dayLength
}

export function formatDay(day: number): string {
  return new Date(day * dayLength).toISOString().slice(0, 10)
}

/** The bucket size for a range. */
export function bucketFor({ from, to }: DayRange): BucketKind {
  const days = to - from + 1
  if (days <= maxHourlyDays) return 'hour'
  if (days <= maxDailyDays) return 'day'
  return to < yearsAfter(from, maxWeeklyYears) ? 'week' : 'month'
}

/** The names of a range's buckets, which are their start: a date, or for hours a date with time. Weeks start on Monday. */
export function bucketNames(kind: BucketKind, { from, to }: DayRange): string[] {
  const names: string[] = []
  if (kind === 'hour') {
    for (let hour = from * 24; hour < (to + 1) * 24; hour += 1) names.push(hourName(hour))
    return names
  }
  for (let day = startOf(kind, from); day <= to; day = next(kind, day)) names.push(formatDay(day))
  return names
}

/** The name of the bucket that contains an hour since the epoch. */
export function bucketOf(kind: BucketKind, hour: number): string {
  return kind === 'hour' ? hourName(hour) : formatDay(startOf(kind, Math.floor(hour / 24)))
}

function hourName(hour: number): string {
  return new Date(hour * hourLength).toISOString()
}

function startOf(kind: Exclude<BucketKind, 'hour'>, day: number): number {
  if (kind === 'day') return day
  const date = new Date(day * dayLength)
  if (kind === 'week') return day - ((date.getUTCDay() + 6) % 7)
  return day - (date.getUTCDate() - 1)
}

function next(kind: Exclude<BucketKind, 'hour'>, day: number): number {
  if (kind === 'day') return day + 1
  if (kind === 'week') return day + 7
  const date = new Date(day * dayLength)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / dayLength
}
