import type { PageIndex } from './page-index.ts'
import type { RemoveOptions, SharedRemoval, SharedRemoved } from './page-store.ts'
import type { CountedPage } from './page-writes.ts'
import { knownAmong, taggedChoice, urlChoice } from './removal-choices.ts'

/** Pages removed per shared transaction: a few milliseconds. */
const sharedPages = 1_000
/**
 * Pages that one removal takes of a shared transaction, so that a tag with a hundred thousand pages does not delay the
 * others.
 */
const pagesOfOne = 250

/**
 * Removes pages for as many of the removals as one transaction allows. What all of them have in common is read and written once, since a
 * query costs more than its rows. @param now milliseconds since the epoch
 */
export function takeShares(index: PageIndex, removals: readonly SharedRemoval[], now: number): SharedRemoved[] {
  const tags = removals.flatMap(({ selection }) => (selection.kind === 'tags' ? selection.tags : []))
  const knownTags = knownAmong(index, tags)
  const results: SharedRemoved[] = []
  const removed: CountedPage[] = []
  const traces: number[] = []
  for (let left = sharedPages; results.length < removals.length && left > 0;) {
    const removal = removals[results.length]!
    const { selection, trace } = removal
    const most = Math.min(left, pagesOfOne)
    const choose =
      selection.kind === 'tags' ? taggedChoice(selection.tags, most, knownTags) : urlChoice(selection.urls, most)
    const { places, more } = choose(index)
    const { urls } = nothingOf(removal)
    left -= 1
    for (const { value, pages } of places) {
      const marked = mark(index, pages, value, removal, now)
      for (const page of marked) urls[value]!.push(page.url)
      if (removal.soft !== true) removed.push(...marked)
      left -= marked.length
      if (trace !== undefined && marked.length > 0) traces.push(trace)
    }
    results.push({ urls, isWhole: !more })
  }
  index.traces.open([...new Set(traces)], now, null)
  index.writes.uncount(removed)
  return results
}

/** The result of a removal from a store without pages. */
export function nothingOf({ selection }: SharedRemoval): SharedRemoved {
  return { urls: valuesOf(selection).map(() => []), isWhole: true }
}

/** Makes live pages dead or stale. Returns those that were neither. */
export function mark<Page extends { id: number }>(
  { writes }: PageIndex,
  pages: readonly Page[],
  value: number,
  { soft = false, trace }: RemoveOptions,
  now: number,
): readonly Page[] {
  const place = trace === undefined ? null : { trace, value }
  if (soft) return writes.stalen(pages, now, place)
  writes.bury(pages, place)
  return pages
}

function valuesOf(selection: SharedRemoval['selection']): readonly string[] {
  return selection.kind === 'tags' ? selection.tags : selection.urls
}
