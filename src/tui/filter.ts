import { globMatcher } from '../lib/glob.ts'
import { readableUrl } from '../lib/safe-text.ts'
import type { Row } from './panel.ts'

/**
 * Parses the filter typed after `/`. A row must match every word: `word` is contained (ignoring case; `*` stands for any characters),
 * `!word` is not contained, `a|b` is matched by either, `5xx` or `404` is its status, `>1s` or `>200ms` is exceeded by its duration.
 */
export function matches(row: Row, filter: string): boolean {
  return wordsOf(filter).every((word) => matchesWord(row, word.toLowerCase()))
}

/** The words of a filter. */
export function wordsOf(filter: string): string[] {
  return filter.split(/\s+/).filter((word) => word !== '')
}

/** The alternatives of a word: `hit|stale`. */
export function alternatives(word: string): string[] {
  return word.split('|').filter((each) => each !== '')
}

function matchesWord(row: Row, word: string): boolean {
  if (word.startsWith('!') && word.length > 1) return !matchesWord(row, word.slice(1))
  if (word.includes('|')) return alternatives(word).some((each) => matchesWord(row, each))
  const status = /^([1-5])(?:xx|(\d\d))$/.exec(word)
  if (status && row.status !== null)
    return status[2] === undefined ? Math.floor(row.status / 100) === Number(status[1]) : row.status === Number(word)
  const slower = /^>(\d+(?:\.\d+)?)(ms|s)$/.exec(word)
  if (slower) return row.ms !== null && row.ms > Number(slower[1]) * (slower[2] === 's' ? 1000 : 1)
  const isFound = word.includes('*') ? globMatcher(`*${word}*`) : (text: string) => text.includes(word)
  // An operator types what the screen shows; a URL may be pasted as it is.
  return isFound(row.text.toLowerCase()) || isFound(readableUrl(row.text).toLowerCase())
}

/** The rows that the filter shows. */
export function visibleRows(rows: readonly Row[], filter: string, errorsOnly: boolean): readonly Row[] {
  if (filter.trim() === '' && !errorsOnly) return rows
  return rows.filter((row) => (!errorsOnly || row.bad) && matches(row, filter))
}
