import { readableUrl } from '../lib/safe-text.ts'
import type { Row } from './panel.ts'

/**
 * Parses the filter typed after `/`. A row must match every word: `word` is contained (ignoring case), `!word` is not
 * contained, `5xx` or `404` is its status, `>1s` or `>200ms` is exceeded by its duration.
 */
export function matches(row: Row, filter: string): boolean {
  return filter
    .split(/\s+/)
    .filter((word) => word !== '')
    .every((word) => matchesWord(row, word.toLowerCase()))
}

function matchesWord(row: Row, word: string): boolean {
  if (word.startsWith('!') && word.length > 1) return !matchesWord(row, word.slice(1))
  const status = /^([1-5])(?:xx|(\d\d))$/.exec(word)
  if (status && row.status !== null)
    return status[2] === undefined ? Math.floor(row.status / 100) === Number(status[1]) : row.status === Number(word)
  const slower = /^>(\d+(?:\.\d+)?)(ms|s)$/.exec(word)
  if (slower) return row.ms !== null && row.ms > Number(slower[1]) * (slower[2] === 's' ? 1000 : 1)
  // An operator types what the screen shows; a URL may be pasted as it is.
  return row.text.toLowerCase().includes(word) || readableUrl(row.text).toLowerCase().includes(word)
}

/** The rows that the filter shows. */
export function visibleRows(rows: readonly Row[], filter: string, errorsOnly: boolean): readonly Row[] {
  if (filter.trim() === '' && !errorsOnly) return rows
  return rows.filter((row) => (!errorsOnly || row.bad) && matches(row, filter))
}
