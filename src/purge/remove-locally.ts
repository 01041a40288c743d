import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Removal } from '../cluster/removal.ts'
import type { PageStore, RemoveOptions, Selection } from '../pages/page-store.ts'
import { toMatcher } from './pattern.ts'
import { isSoftened, type PurgeKey } from './purge-key.ts'

/** Keys that share one removal. */
export interface Group {
  selection: Selection
  /** Whether the purge budget made this removal soft; the invalidation as a whole may be soft too. */
  soft: boolean
  /** Indexes into the keys of the invalidation, in the order of the selection's values. */
  keys: number[]
}

/** Clears the whole application cache directory, pages included; resolves to the number of removed pages. */
export type ClearDirectory = (trace: number | null) => Promise<number>

/**
 * Groups keys into removals. A removal of all pages replaces the others. Soft removals come last, so that a page that two keys select is
 * removed and counted once.
 */
export function toGroups(keys: readonly PurgeKey[]): Group[] {
  const all = keys.findIndex((key) => key.kind === 'all')
  if (all >= 0) return [{ selection: { kind: 'all' }, soft: false, keys: [all] }]
  const urls: Group & { selection: { kind: 'urls'; urls: string[] } } = {
    selection: { kind: 'urls', urls: [] },
    soft: false,
    keys: [],
  }
  const [hard, softened] = [tagGroup(false), tagGroup(true)]
  const others: Group[] = []
  for (const [index, key] of keys.entries()) {
    if (key.kind === 'tag' || key.kind === 'entity') {
      const { selection, keys: own } = isSoftened(key) ? softened : hard
      selection.tags.push(key.tag)
      own.push(index)
    } else if (key.kind === 'url') {
      urls.selection.urls.push(key.url)
      urls.keys.push(index)
    } else if (key.kind === 'type')
      others.push({ selection: { kind: 'type', type: key.type }, soft: false, keys: [index] })
    else if (key.kind === 'pattern')
      others.push({ selection: { kind: 'matching', matches: toMatcher(key.pattern) }, soft: false, keys: [index] })
  }
  return [urls, hard, ...others, softened].filter((group) => group.keys.length > 0)
}

function tagGroup(soft: boolean): Group & { selection: { kind: 'tags'; tags: string[] } } {
  return { selection: { kind: 'tags', tags: [] }, soft, keys: [] }
}

/** What an invalidation removes, for the other nodes. */
export function toRemovals({
  invalidation,
  keys,
  groups,
}: {
  invalidation: { soft: boolean }
  keys: readonly PurgeKey[]
  groups: readonly Group[]
}): Removal[] {
  return groups.map(({ selection, soft, keys: [first] }): Removal => {
    const softly = soft || invalidation.soft ? ({ soft: true } as const) : {}
    if (selection.kind === 'tags') return { kind: 'tags', tags: selection.tags, ...softly }
    if (selection.kind === 'urls') return { kind: 'urls', urls: selection.urls, ...softly }
    if (selection.kind !== 'matching') return selection
    const key = keys[first!]!
    return key.kind === 'pattern' ? { kind: 'pattern', pattern: key.pattern } : { kind: 'all' }
  })
}

/** Most removals of one invalidation: each type and each pattern is one. */
const maxGroups = 16

/** The number under which the page store keeps the pages of a removal until their URLs are recorded. */
export function traceOf(invalidation: number, group: number): number {
  return invalidation * maxGroups + group
}

/** The traces of all removals of an invalidation. */
export function tracesOf({ id, groups }: { id: number; groups: readonly Group[] }): number[] {
  return groups.map((_, number) => traceOf(id, number))
}

/** The invalidation whose removal has a trace. */
export function invalidationOf(trace: number): number {
  return Math.floor(trace / maxGroups)
}

/** Removes the pages of the keys from the cache. Returns the number of pages of each key. */
export async function removeLocally(
  pages: PageStore,
  groups: readonly Group[],
  options: { count: number; invalidation: number | null; soft: boolean; clearDirectory: ClearDirectory | null },
): Promise<number[]> {
  const counts = Array.from({ length: options.count }, () => 0)
  for (const [number, { selection, soft, keys }] of groups.entries()) {
    const trace = options.invalidation === null ? undefined : traceOf(options.invalidation, number)
    if (options.clearDirectory !== null && selection.kind === 'all') {
      counts[keys[0]!] = await options.clearDirectory(trace ?? null)
      continue
    }
    const removal: RemoveOptions = {
      soft: soft || options.soft,
      ...(trace !== undefined && { trace }),
      onTaken: (value, taken) => (counts[keys[value]!]! += taken),
    }
    const removed = await pages.remove(selection, removal)
    if (keys.length === 1) counts[keys[0]!] = removed
  }
  return counts
}

/** Counts the pages of each key over repeated removals, from the traces that the page store keeps until the URLs are recorded. */
export async function countRemoved(
  pages: PageStore,
  groups: readonly Group[],
  { count, invalidation }: { count: number; invalidation: number },
): Promise<number[]> {
  const counts = Array.from({ length: count }, () => 0)
  for (const [number, { keys }] of groups.entries()) {
    for (let after = 0, more = true; more;) {
      const taken = (await pages.taken(traceOf(invalidation, number), after, batchSize)) ?? []
      for (const { value } of taken) counts[keys[value]!]! += 1
      more = taken.length === batchSize
      after = taken.at(-1)?.id ?? after
      await yieldToOthers()
    }
  }
  return counts
}

const batchSize = 1_000
