import type { PageIndex } from './page-index.ts'
import type { RemoveOptions, SharedRemoval, SharedRemoved } from './page-store.ts'
import type { Marked } from './page-writes.ts'
import { knownAmong, taggedChoice, urlChoice, type ChosenPages } from './removal-choices.ts'

/** Pages removed per shared transaction: a few milliseconds. */
const sharedPages = 1_000
/**
 * Pages that one removal takes of a shared transaction, so that a tag with a hundred thousand pages does not delay the
 * others.
 */
const pagesOfOne = 250

/** What one removal marked. */
interface Share {
  removal: SharedRemoval
  places: readonly ChosenPages[]
  count: number
  isWhole: boolean
}

/**
 * Removes pages for as many of the removals as one transaction allows. What all of them have in common is read and written once, since a
 * query costs more than its rows. @param now milliseconds since the epoch
 */
export function takeShares(index: PageIndex, removals: readonly SharedRemoval[], now: number): SharedRemoved[] {
  const tags = removals.flatMap(({ selection }) => (selection.kind === 'tags' ? selection.tags : []))
  const knownTags = knownAmong(index, tags)
  const shares: Share[] = []
  for (let left = sharedPages; shares.length < removals.length && left > 0;) {
    const removal = removals[shares.length]!
    const most = Math.min(left, pagesOfOne)
    const { selection } = removal
    const choice =
      selection.kind === 'tags' ? taggedChoice(selection.tags, most, knownTags) : urlChoice(selection.urls, most)
    const { places: chosen, more } = choice(index)
    const places = chosen.map(({ ids, value }) => ({ value, ids: mark(index, ids, value, removal, now) }))
    const count = places.reduce((sum, { ids }) => sum + ids.length, 0)
    left -= 1 + count
    shares.push({ removal, places, count, isWhole: !more })
  }
  index.traces.open(
    shares.flatMap(({ removal: { trace }, count }) => (trace === undefined || count === 0 ? [] : [trace])),
    now,
    null,
  )
  return settle(index, shares)
}

/** Updates the counters, and says what each removal has taken. */
function settle({ writes }: PageIndex, shares: readonly Share[]): SharedRemoved[] {
  const ids = shares.flatMap(({ places }) => places.flatMap((place) => place.ids))
  const marked = new Map(writes.marked(ids).map((page) => [page.id, page]))
  const removed: Marked[] = []
  const results = shares.map(({ removal, places, isWhole }) => {
    const { urls } = nothingOf(removal)
    for (const { value, ids: own } of places) {
      for (const id of own) {
        const page = marked.get(id)
        if (page === undefined) continue
        urls[value]!.push(page.url)
        if (removal.soft !== true) removed.push(page)
      }
    }
    return { urls, isWhole }
  })
  writes.uncount(removed)
  return results
}

/** The result of a removal from a store without pages. */
export function nothingOf({ selection }: SharedRemoval): SharedRemoved {
  return { urls: valuesOf(selection).map(() => []), isWhole: true }
}

/** Makes pages dead or stale. Returns those that were not. */
export function mark(
  { writes }: PageIndex,
  ids: readonly number[],
  value: number,
  { soft = false, trace }: RemoveOptions,
  now: number,
): number[] {
  const place = trace === undefined ? null : { trace, value }
  return soft ? writes.stalen(ids, now, place) : writes.bury(ids, place)
}

function valuesOf(selection: SharedRemoval['selection']): readonly string[] {
  return selection.kind === 'tags' ? selection.tags : selection.urls
}
