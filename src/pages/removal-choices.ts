import type { PageIndex } from './page-index.ts'

/** Pages taken, and names looked up, in one transaction of a long removal: some milliseconds. */
export const slice = 1_000

/** Pages, with the place of the tag or URL that they are taken by. */
interface ChosenPages {
  value: number
  ids: number[]
}

/** Chooses the next pages to take; `more` says that others may be left. Called again and again, it goes on where it was. */
export type Choice = (index: PageIndex) => { places: ChosenPages[]; more: boolean }

/** The pages with any of the tags; at most `most` with each call. */
export function taggedChoice(tags: readonly string[], most = slice): Choice {
  let first = 0
  let known: { value: number; id: number }[] = []
  let after = 0
  return (index) => {
    const places: ChosenPages[] = []
    if (known.length === 0) {
      const from = first
      known = index.choices
        .knownTags(tags.slice(from, from + slice))
        .map(({ value, id }) => ({ value: from + value, id }))
      first += slice
    }
    for (let left = most; left > 0 && known.length > 0;) {
      const { value, id } = known[0]!
      const ids = index.choices.tagged(id, after, left)
      if (ids.length > 0) places.push({ value, ids })
      after = ids.length < left ? 0 : ids.at(-1)!
      if (ids.length < left) known.shift()
      left -= Math.max(1, ids.length)
    }
    return { places, more: known.length > 0 || first < tags.length }
  }
}

/** The pages at any of the URLs. */
export function urlChoice(urls: readonly string[]): Choice {
  let first = 0
  return (index) => {
    const found = index.choices.atUrls(urls.slice(first, first + slice))
    const places = [...Map.groupBy(found, ({ value }) => value)].map(([value, pages]) => ({
      value: first + value,
      ids: pages.map(({ id }) => id),
    }))
    first += slice
    return { places, more: first < urls.length }
  }
}

/** Matching takes the event loop for no longer than this at once, in milliseconds, whatever the pattern and the URLs. */
const matchingTime = 10

/** The numbers of those pages that match, of as many as there is time for, and how many that were. */
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
