import { formatCount } from '../../lib/format.ts'

/** Milliseconds in at most six cells: `8 ms`, `340 ms`, `1.9 s`, `12 s`, `3 min`; `-` when unknown. */
export function shortMs(ms: number | null): string {
  if (ms === null) return '-'
  if (ms < 999.5) return `${ms < 9.95 && ms > 0 ? trimZero(ms.toFixed(1)) : Math.round(ms)} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 119_500) return `${Math.round(ms / 1000)} s`
  return `${Math.round(ms / 60_000)} min`
}

function trimZero(text: string): string {
  return text.replace(/\.0$/, '')
}

/** A number of events a second: `0`, `7.8`, `78`, `1,234`. */
export function shortRate(perSecond: number): string {
  return perSecond > 0 && perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))
}

/** Formats seconds, from ten minutes on in whole minutes: `9 s`, `1 min 20 s`, `12 min`, `2 h 5 min`. */
export function shortSpan(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 600) return whole(Math.round(seconds), 60, 'min', 1, 's')
  if (seconds < 5970) return `${Math.round(seconds / 60)} min`
  return whole(Math.round(seconds / 60) * 60, 3600, 'h', 60, 'min')
}

function whole(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`
}

/** Bytes in units of 1024 with three digits: `512 B`, `1.5 MB`, `112 MB`. */
export function shortBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : trimZero(value.toFixed(1))} ${units[unit]}`
}

/** A share as a percentage: `0 %`, `0.8 %`, `12 %`. */
export function share(part: number, whole: number): string {
  const percent = whole > 0 ? (part * 100) / whole : 0
  return `${percent > 0 && percent < 9.95 ? trimZero(percent.toFixed(1)) : Math.round(percent)} %`
}

/** A ratio as a percentage: `93.4 %`; `-` when unknown. */
export function percent(ratio: number | null): string {
  return ratio === null ? '-' : `${(ratio * 100).toFixed(1)} %`
}

/** The time of day in UTC, like the times of the store: `12:41:07`. */
export function timeOfDay(at: number): string {
  return new Date(at).toISOString().slice(11, 19)
}

/** Formats an age: `now`, `12 s ago`, `3 min ago`. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000)
  return seconds < 1.5 ? 'now' : `${shortSpan(seconds)} ago`
}
