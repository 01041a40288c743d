import { remembering } from './remembering.ts'

const days = '(?:mon|tue|wed|thu|fri|sat|sun)'
const longDays = '(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)'
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const month = `(${months.join('|')})`
const time = '(\\d{2}):(\\d{2}):(\\d{2})'

const imf = new RegExp(`^${days}, (\\d{2}) ${month} (\\d{4}) ${time} gmt$`, 'i')
const rfc850 = new RegExp(`^${longDays}, (\\d{2})-${month}-(\\d{2}) ${time} gmt$`, 'i')
const asctime = new RegExp(`^${days} ${month} ([ \\d]\\d) ${time} (\\d{4})$`, 'i')

/**
 * Parses an HTTP-date in one of its three forms (RFC 9110 §5.6.7); null for anything else. Names of days, months and
 * the zone are case-insensitive; any other deviation makes the date invalid.
 *
 * @param now milliseconds since the epoch, to resolve a two-digit year
 */
export function parseHttpDate(text: string, now: number): number | null {
  const time = parseFixdate(text)
  if (time !== null) return time
  let match = rfc850.exec(text)
  if (match) return toTime(fullYear(Number(match[3]), now), match[2]!, match[1]!, match[4]!, match[5]!, match[6]!)
  match = asctime.exec(text)
  if (match) return toTime(match[6]!, match[1]!, match[2]!, match[3]!, match[4]!, match[5]!)
  return null
}

/** The form that shops send. Responses of one second have the same date. */
const parseFixdate = remembering((text) => {
  const match = imf.exec(text)
  return match && toTime(match[3]!, match[2]!, match[1]!, match[4]!, match[5]!, match[6]!)
})

/** A two-digit year more than fifty years ahead is in the past (RFC 9110 §5.6.7). */
function fullYear(year: number, now: number): string {
  const current = new Date(now).getUTCFullYear()
  const guess = current - (current % 100) + year
  return String(guess > current + 50 ? guess - 100 : guess)
}

function toTime(
  year: string,
  monthName: string,
  day: string,
  hour: string,
  minute: string,
  second: string,
): number | null {
  const parts = [Number(hour), Number(minute), Number(second)] as const
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 60) return null
  const value = Date.UTC(Number(year), months.indexOf(monthName.toLowerCase()), Number(day), ...parts)
  return new Date(value).getUTCDate() === Number(day) || parts[2] === 60 ? value : null
}

/** Formats milliseconds since the epoch as an IMF-fixdate. */
export function formatHttpDate(time: number): string {
  return new Date(time).toUTCString()
}
