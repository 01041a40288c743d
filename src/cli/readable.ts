import { formatDuration } from '../lib/format.ts'
import type { Cell } from './output.ts'

/** Formats a stamp relative to now: `3 min ago`, `in 2 h`. Leaves what is no stamp. */
export function relativeTime(stamp: Cell, now: number): Cell {
  const time = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN
  if (Number.isNaN(time)) return stamp
  const seconds = Math.round(Math.abs(now - time) / 1000)
  if (seconds === 0) return 'now'
  // One unit is enough here: `2 h`, not `2 h 5 min`.
  const [value, unit] = formatDuration(seconds).split(' ')
  return now >= time ? `${value} ${unit} ago` : `in ${value} ${unit}`
}

/** The length of a short id, unless several ids share their beginning. */
const shortLength = 8

/** Shortens ids to beginnings that are unique among them. */
export function shortIds(ids: readonly Cell[]): Cell[] {
  const known = [...new Set(ids.filter((id) => typeof id === 'string'))]
  const longest = Math.max(0, ...known.map((id) => id.length))
  let length = shortLength
  while (length < longest && new Set(known.map((id) => id.slice(0, length))).size < known.length) length += 1
  return ids.map((id) => (typeof id === 'string' ? id.slice(0, length) : id))
}
