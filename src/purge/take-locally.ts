import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore, RemoveOptions, Selection } from '../pages/page-store.ts'
import { toMatcher } from './pattern.ts'
import type { PurgeKey } from './purge-key.ts'

/** Keys that are taken in one removal, and where they stand in the list of all. */
export interface Group {
  selection: Selection
  keys: number[]
}

/** Clears everything in the application cache directory, pages and all else; resolves to the number of pages. */
export type ClearDirectory = (trace: number | null) => Promise<number>

/** The removals that keys are. Where everything goes, nothing is left for the others. */
export function toGroups(keys: readonly PurgeKey[]): Group[] {
  const all = keys.findIndex((key) => key.kind === 'all')
  if (all >= 0) return [{ selection: { kind: 'all' }, keys: [all] }]
  const tags: Group & { selection: { kind: 'tags'; tags: string[] } } = {
    selection: { kind: 'tags', tags: [] },
    keys: [],
  }
  const urls: Group & { selection: { kind: 'urls'; urls: string[] } } = {
    selection: { kind: 'urls', urls: [] },
    keys: [],
  }
  const others: Group[] = []
  for (const [index, key] of keys.entries()) {
    if (key.kind === 'tag' || key.kind === 'entity') {
      tags.selection.tags.push(key.tag)
      tags.keys.push(index)
    } else if (key.kind === 'url') {
      urls.selection.urls.push(key.url)
      urls.keys.push(index)
    } else if (key.kind === 'type') others.push({ selection: { kind: 'type', type: key.type }, keys: [index] })
    else if (key.kind === 'pattern')
      others.push({ selection: { kind: 'matching', matches: toMatcher(key.pattern) }, keys: [index] })
  }
  return [urls, tags, ...others].filter((group) => group.keys.length > 0)
}

/** So many removals one invalidation has at most: types and patterns are named one by one. */
const mostGroups = 16

/** What a removal's pages are known by to the page store, until their URLs are recorded. */
export function traceOf(invalidation: number, group: number): number {
  return invalidation * mostGroups + group
}

/** Takes the pages of the keys out of the cache. How many each key took, in the order of the keys. */
export async function takeLocally(
  pages: PageStore,
  groups: readonly Group[],
  options: { count: number; invalidation: number | null; soft: boolean; clearDirectory: ClearDirectory | null },
): Promise<number[]> {
  const counts = Array.from({ length: options.count }, () => 0)
  for (const [number, { selection, keys }] of groups.entries()) {
    const trace = options.invalidation === null ? undefined : traceOf(options.invalidation, number)
    if (options.clearDirectory !== null && selection.kind === 'all') {
      counts[keys[0]!] = await options.clearDirectory(trace ?? null)
      continue
    }
    const removal: RemoveOptions = {
      soft: options.soft,
      ...(trace !== undefined && { trace }),
      onTaken: (value, taken) => (counts[keys[value]!]! += taken),
    }
    const removed = await pages.remove(selection, removal)
    if (keys.length === 1) counts[keys[0]!] = removed
  }
  return counts
}

/** How many pages each key took, of all removals for it: read from what the page store keeps until the URLs are recorded. */
export async function countTaken(
  pages: PageStore,
  groups: readonly Group[],
  { count, invalidation }: { count: number; invalidation: number },
): Promise<number[]> {
  const counts = Array.from({ length: count }, () => 0)
  for (const [number, { keys }] of groups.entries()) {
    for (let after = 0, more = true; more;) {
      const taken = await pages.taken(traceOf(invalidation, number), after, countedAtOnce)
      for (const { value } of taken) counts[keys[value]!]! += 1
      more = taken.length === countedAtOnce
      after = taken.at(-1)?.id ?? after
      await yieldToOthers()
    }
  }
  return counts
}

const countedAtOnce = 1_000
