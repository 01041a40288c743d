import { parseHttpDate } from '../../lib/http-date.ts'

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3), seconds or a date, to milliseconds from now. Null if it is missing or unparsable; 0 for a
 * date in the past. The caller caps it.
 *
 * @param now milliseconds since the epoch
 */
export function parseRetryAfter(value: string | undefined | null, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER)
  const date = parseHttpDate(text, now)
  return date === null ? null : Math.max(0, date - now)
}
