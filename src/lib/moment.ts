/** Milliseconds. */
export const hourLength = 3_600_000
export const dayLength = 24 * hourLength

/** Milliseconds since the epoch at the start of the year 10000, which ISO 8601 cannot write without a sign. */
const endOfTime = Date.UTC(10_000, 0)

const iso =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Parses an ISO 8601 time with its time zone: `2026-12-01T00:00:00+01:00` or `2026-11-30T23:00Z`.
 *
 * @returns milliseconds since the epoch; null if it is not such a time, or before 1970
 */
export function parseMoment(text: string): number | null {
  const match = iso.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as number[]
  const local = Date.UTC(year!, month! - 1, day, hour, minute, second, Number((match[7] ?? '').padEnd(3, '0')))
  // `Date.UTC` accepts 30 February as a day in March, and reads the years 0 to 99 as 1900 to 1999.
  if (new Date(local).toISOString().slice(0, 10) !== text.slice(0, 10)) return null
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * 60_000
  const time = match[8] === '-' ? local + offset : local - offset
  return time >= 0 && time < endOfTime ? time : null
}

/** Where a moment lies: before `from`, from then on and before `until`, or after. Times in ISO 8601; null: no limit. */
export function placeInWindow(from: string | null, until: string | null, now: number): 'before' | 'within' | 'after' {
  if (from !== null && now < Date.parse(from)) return 'before'
  return until !== null && now >= Date.parse(until) ? 'after' : 'within'
}

/** Hours since the epoch of a time in milliseconds. */
export function hourOf(time: number): number {
  return Math.floor(time / hourLength)
}
