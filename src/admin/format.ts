import { formatMs as formatMeasured } from '../lib/format.ts'

const wholeNumber = new Intl.NumberFormat('en')
/** As logs, commands and the daemon's statistics have them. */
export const timeZone = 'UTC'
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone })

export function formatCount(value: number): string {
  return wholeNumber.format(value)
}

/** `1 page`, `2 pages`. */
export function formatCounted(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** A time of the API, ISO 8601 or milliseconds since the epoch, in UTC. */
export function formatTime(at: string | number | null): string {
  return at === null ? '–' : moment.format(new Date(at))
}

/** A ratio from 0 to 1; null: nothing was measured. */
export function formatRatio(ratio: number | null): string {
  return ratio === null ? '–' : `${(ratio * 100).toFixed(1)} %`
}

export function formatShare(part: number, whole: number): string {
  return formatRatio(whole === 0 ? null : part / whole)
}

/** A measured time in milliseconds. */
export function formatMs(ms: number | null): string {
  return ms === null ? '–' : formatMeasured(ms)
}

/** Names the nodes that may serve old pages after a purge. */
export function unconfirmedText(nodes: readonly string[] = []): string {
  return nodes.length === 0 ? '' : ` Unconfirmed: ${nodes.join(', ')} may serve old pages for a while (cluster.alone).`
}
