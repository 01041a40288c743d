import * as z from 'zod/mini'
import type { Found, Search } from '../purge/log/search.ts'
import { count, described, queryInteger, succeeded } from './fields.ts'

/** Milliseconds that one request searches a log: ten million rows take several requests. */
const budget = 500

const longestSearch = 200
const expected = `expected a text of at most ${longestSearch} characters`

/** Input fields of a list that can be searched. @param subject what is searched */
export function searchInput(subject: string) {
  return {
    search: described(
      z.optional(z.string({ error: expected }).check(z.maxLength(longestSearch, { error: expected }))),
      `words, each of which the ${subject} contains, ignoring case. Searches for half a second at most: see next`,
    ),
    before: described(
      z.optional(queryInteger(0, Number.MAX_SAFE_INTEGER)),
      'with search: where to go on, the next of the previous answer',
    ),
  }
}

/** Output fields of a search. */
export const searchOutput = {
  next: described(
    z.optional(z.nullable(count)),
    'with search: the value of before for older entries; null: the whole log was searched. The total is then that of the found entries',
  ),
  searchedTo: described(
    z.optional(z.nullable(z.iso.datetime())),
    'with search: the time back to which the log was searched; null: all of it',
  ),
}

interface Range {
  limit: number
  offset: number
}

export function toSearch(text: string, before: number | undefined, range: Range, signal: AbortSignal): Search {
  const most = Math.min(range.offset, mostSkipped) + range.limit
  return { text, before: before ?? null, most, skip: range.offset, budget, now: () => performance.now(), signal }
}

/** Entries that a search skips; `before` goes further. */
const mostSkipped = 10_000

/** The answer to a search. */
export function found<Item>(range: Range, result: Found<Item>) {
  return { ...succeeded, ...range, ...result }
}
