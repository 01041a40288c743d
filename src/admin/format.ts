const wholeNumber = new Intl.NumberFormat('en')
const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const units = ['B', 'KB', 'MB', 'GB', 'TB']

export function formatCount(value: number): string {
  return wholeNumber.format(value)
}

/** `1 page`, `2 pages`. */
export function formatCounted(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Bytes in units of 1024, as `totalSizeFormatted` has them. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(2)} ${units[unit]}`
}

/** A time of the API, ISO 8601 or milliseconds since the epoch, in the browser's time zone. */
export function formatTime(at: string | number | null): string {
  return at === null ? '–' : moment.format(new Date(at))
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`
}

/** Formats milliseconds. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–'
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}
