import { parseHttpDate } from '../../lib/http-date.ts'

/**
 * `Retry-After` (RFC 9110 §10.2.3) in milliseconds from now: seconds or a date. Null where there is none or
 * it cannot be read; a date in the past is 0. How much of it is obeyed is the caller's to cap.
 *
 * @param now milliseconds since the epoch
 */
export function parseRetryAfter(value: string | undefined | null, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER)
  const date = parseHttpDate(text, now)
  return date === null ? null : Math.max(0, date - now)
}
