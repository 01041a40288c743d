import { PagecacheError } from '../errors.ts'
import { parseMoment } from '../lib/moment.ts'

/** When a stage may be shown: from `from` (inclusive) until `until` (exclusive); null: without a limit. ISO 8601, UTC. */
export interface StageWindow {
  from: string | null
  until: string | null
}

/** Brings the times of a window into UTC. Throws INVALID_INPUT for a time without a zone, or a window that ends before it begins. */
export function readWindow(given: StageWindow): StageWindow {
  const window = { from: toUtc('from', given.from), until: toUtc('until', given.until) }
  if (window.from !== null && window.until !== null && window.from >= window.until)
    throw new PagecacheError('INVALID_INPUT', `until: expected a time after from (${window.from})`)
  return window
}

function toUtc(name: keyof StageWindow, given: string | null): string | null {
  if (given === null) return null
  const time = parseMoment(given)
  if (time !== null) return new Date(time).toISOString()
  throw new PagecacheError(
    'INVALID_INPUT',
    `${name}: expected a time with its time zone, such as 2026-12-01T00:00+01:00 or 2026-11-30T23:00Z`,
  )
}
