import type { PageIndex } from './page-index.ts'
import type { CountedPage } from './page-writes.ts'
import type { Selection } from './page-store.ts'
import { searchTagOf } from './search-tags.ts'

/** Pages removed, or names looked up, per transaction of a long removal: a few milliseconds. */
export const slice = 1_000

/** Live pages with the index of the tag or URL that selects them. */
interface ChosenPages {
  value: number
  pages: CountedPage[]
}

/**
 * Selects the next pages to remove, each once; `more` says whether there may be others. Each call continues where the last one
 * ended.
 */
export type Choice = (index: PageIndex) => { places: ChosenPages[]; more: boolean }

/** The known tags among those given, with their index in the list. */
type KnownTags = (index: PageIndex, tags: readonly string[]) => { value: number; id: number }[]

const readKnownTags: KnownTags = (index, tags) => index.choices.knownTags(tags)

/** Reads at once which tags are known of several choices. */
export function knownAmong(index: PageIndex, all: readonly string[]): KnownTags {
  const ids = new Map(readKnownTags(index, all).map(({ value, id }) => [all[value]!, id]))
  return (_, tags) => tags.flatMap((tag, value) => (ids.has(tag) ? [{ value, id: ids.get(tag)! }] : []))
}

/** Selects pages with any of the tags, at most `most` per call. */
export function taggedChoice(tags: readonly string[], most = slice, knownTags = readKnownTags): Choice {
  let first = 0
  let known: { value: number; id: number }[] = []
  let after = 0
  return (index) => {
    const places: ChosenPages[] = []
    if (known.length === 0) {
      const from = first
      known = knownTags(index, tags.slice(from, from + slice)).map(({ value, id }) => ({ value: from + value, id }))
      first += slice
    }
    for (let left = most; left > 0 && known.length > 0;) {
      const { value, id } = known[0]!
      const pages = index.choices.tagged(id, after, left)
      places.push({ value, pages: pages.filter(({ isCurrent }) => isCurrent === 1) })
      after = pages.length < left ? 0 : pages.at(-1)!.id
      if (pages.length < left) known.shift()
      left -= Math.max(1, pages.length)
    }
    return { places: distinct(places), more: known.length > 0 || first < tags.length }
  }
}

/** Selects the pages at any of the URLs, and those that answer them although they have another query. */
export function urlChoice(urls: readonly string[], most = slice): Choice {
  const byPath = new Map(urls.map((url, value) => [searchTagOf(url), value]))
  byPath.delete(null)
  const shared = byPath.size === 0 ? null : taggedChoice([...byPath.keys()] as string[], most)
  const values = [...byPath.values()]
  let first = 0
  return (index) => {
    const found = index.choices.atUrls(urls.slice(first, first + slice))
    const places = [...Map.groupBy(found, ({ value }) => value)].map(([value, pages]) => ({
      value: first + value,
      pages,
    }))
    first += slice
    if (shared === null || first < urls.length) return { places: distinct(places), more: first < urls.length }
    const others = shared(index)
    const all = [...places, ...others.places.map(({ value, pages }) => ({ value: values[value]!, pages }))]
    return { places: distinct(all), more: others.more }
  }
}

/** Leaves each page to the first tag or URL that selects it. */
function distinct(places: ChosenPages[]): ChosenPages[] {
  if (places.length < 2) return places
  const seen = new Set<number>()
  return places.map(({ value, pages }) => ({
    value,
    pages: pages.filter(({ id }) => seen.size < seen.add(id).size),
  }))
}

/** The longest that matching blocks the event loop at once, in milliseconds, whatever the pattern and the URLs. */
const matchingTime = 10

/** Matches as many pages as the time allows. Returns the ids of those that match and the number of pages read. */
export function matchFor(
  pages: readonly { id: number; url: string }[],
  matches: (url: string) => boolean,
): { ids: number[]; read: number } {
  const until = performance.now() + matchingTime
  const ids: number[] = []
  let read = 0
  for (const { id, url } of pages) {
    if (matches(url)) ids.push(id)
    read += 1
    if (performance.now() > until) break
  }
  return { ids, read }
}

/** A selection without duplicate tags or URLs. */
export function unique(selection: Selection): Selection {
  if (selection.kind === 'tags') return { kind: 'tags', tags: [...new Set(selection.tags)] }
  if (selection.kind === 'urls') return { kind: 'urls', urls: [...new Set(selection.urls)] }
  return selection
}
