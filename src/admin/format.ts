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

/** Formats milliseconds. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–'
  if (ms > 0 && ms < 0.05) return '< 0.1 ms'
  if (ms >= 120_000) return formatSeconds(ms / 1000)
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms > 0 && ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

/** Formats a duration in seconds by its two largest units: `45 s`, `3 min 5 s`, `2 h 4 min`, `3 d 2 h`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const sizes = [86_400, 3_600, 60, 1]
  const names = ['d', 'h', 'min', 's']
  const first = sizes.findIndex((size) => whole >= size)
  if (first < 0) return '0 s'
  const parts = [first, first + 1].flatMap((index) => {
    const size = sizes[index]
    if (size === undefined) return []
    const count = Math.floor((index === first ? whole : whole % sizes[first]!) / size)
    return count === 0 ? [] : [`${count} ${names[index]}`]
  })
  return parts.join(' ')
}

/** Names the nodes that may serve old pages after a purge. */
export function unconfirmedText(nodes: readonly string[] = []): string {
  return nodes.length === 0 ? '' : ` Unconfirmed: ${nodes.join(', ')} may serve old pages for a while (cluster.alone).`
}
