import type { PageType } from '../pages/page.ts'
import type { PageStore, Selection, SharedRemoval } from '../pages/page-store.ts'
import { searchTagsOf } from '../pages/search-tags.ts'
import type { Purgeable } from './clock.ts'

/** What a purge removes, as the nodes share it. Soft: its pages are marked as stale instead. */
export type Removal =
  | { kind: 'all' }
  | { kind: 'type'; type: PageType }
  | { kind: 'tags'; tags: readonly string[]; soft?: true }
  | { kind: 'urls'; urls: readonly string[]; soft?: true }
  /** A regular expression over path and query. */
  | { kind: 'pattern'; pattern: string }

/** Names of every page: a purge of everything, or a pattern, may select any page. */
const anything = '*'

/** The names that a removal selects. It can select a page only if they share a name with `namesOf` the page. */
export function namesIn(removal: Removal): string[] {
  if (removal.kind === 'tags') return removal.tags.map(ofTag)
  if (removal.kind === 'urls') return [...removal.urls.map(ofUrl), ...searchTagsOf(removal.urls).map(ofTag)]
  return [removal.kind === 'type' ? ofType(removal.type) : anything]
}

export function namesOf({ url, type, tags }: Purgeable): string[] {
  return [anything, ofUrl(url), ofType(type), ...tags.map(ofTag)]
}

const ofTag = (tag: string) => `tag ${tag}`
const ofUrl = (url: string) => `url ${url}`
const ofType = (type: string) => `type ${type}`

export interface RemovalStore {
  pages: Pick<PageStore, 'remove' | 'removeTogether'>
  /** Compiles a pattern to a test of URLs. */
  toMatcher(pattern: string): (url: string) => boolean
}

/**
 * Removes the pages of other nodes' purges from this node's store, like a purge of another process on the same machine. Safe to repeat.
 * Resolves to the number of removed pages for each removal: by tag or URL, or in total.
 */
export async function applyRemovals(
  { pages, toMatcher }: RemovalStore,
  removals: readonly Removal[],
): Promise<number[][]> {
  const counts = removals.map((): number[] => [])
  const small = removals.flatMap((removal, index) =>
    removal.kind === 'tags' || removal.kind === 'urls'
      ? [{ index, selection: selectionOf(removal), soft: removal.soft === true }]
      : [],
  )
  for (let done = 0; done < small.length;) {
    const removed = await pages.removeTogether(small.slice(done).map(({ selection, soft }) => ({ selection, soft })))
    for (const { urls, isWhole } of removed) {
      const { index, selection, soft } = small[done]!
      const own = urls.map(({ length }) => length)
      const onTaken = (value: number, taken: number) => (own[value]! += taken)
      if (!isWhole) await pages.remove(selection, { soft, onTaken })
      counts[index] = own
      done += 1
    }
  }
  for (const [index, removal] of removals.entries()) {
    if (removal.kind === 'all' || removal.kind === 'type') counts[index] = [await pages.remove(removal)]
    else if (removal.kind === 'pattern') {
      const selection: Selection = { kind: 'matching', matches: toMatcher(removal.pattern) }
      counts[index] = [await pages.remove(selection)]
    }
  }
  return counts
}

function selectionOf(removal: Removal & { kind: 'tags' | 'urls' }): SharedRemoval['selection'] {
  return removal.kind === 'tags' ? { kind: 'tags', tags: removal.tags } : { kind: 'urls', urls: removal.urls }
}
