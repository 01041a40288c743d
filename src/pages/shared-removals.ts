import type { PageIndex } from './page-index.ts'
import type { RemoveOptions, SharedRemoval, SharedRemoved } from './page-store.ts'
import { knownAmong, taggedChoice, urlChoice } from './removal-choices.ts'

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
  pages: readonly { id: number; value: number }[]
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
    const { places, more } = choice(index)
    const pages = places.flatMap(({ ids, value }) => mark(index, ids, value, removal, now).map((id) => ({ id, value })))
    left -= 1 + pages.length
    shares.push({ removal, pages, isWhole: !more })
  }
  index.traces.open(
    shares.flatMap(({ removal: { trace }, pages }) => (trace === undefined || pages.length === 0 ? [] : [trace])),
    now,
    null,
  )
  return settle(index, shares)
}

/** Updates the counters, and says what each removal has taken. */
function settle({ writes }: PageIndex, shares: readonly Share[]): SharedRemoved[] {
  const idsOf = (some: readonly Share[]) => some.flatMap(({ pages }) => pages.map(({ id }) => id))
  const marked = new Map(writes.marked(idsOf(shares)).map((page) => [page.id, page]))
  const removed = idsOf(shares.filter(({ removal: { soft = false } }) => !soft))
  writes.uncount(removed.flatMap((id) => marked.get(id) ?? []))
  return shares.map(({ removal, pages, isWhole }) => {
    const taken = pages.flatMap(({ id, value }) => (marked.has(id) ? [{ url: marked.get(id)!.url, value }] : []))
    const counts = valuesOf(removal.selection).map(() => 0)
    for (const { value } of taken) counts[value]! += 1
    return { counts, taken, isWhole }
  })
}

/** The result of a removal from a store without pages. */
export function nothingOf({ selection }: SharedRemoval): SharedRemoved {
  return { counts: valuesOf(selection).map(() => 0), taken: [], isWhole: true }
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
