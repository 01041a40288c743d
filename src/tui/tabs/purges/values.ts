import { formatCount } from '../../../lib/format.ts'
import { wordsOf } from '../../filter.ts'
import type { ValueOf } from '../../../operations/operation.ts'
import type { purgeStatistics, recentInvalidations, recentPurges } from '../../../operations/purge-log.ts'

/** Values of the operations of the two logs. */
export type PurgeStatistics = ValueOf<typeof purgeStatistics>
export type RecentPurges = ValueOf<typeof recentPurges>
export type RecentInvalidations = ValueOf<typeof recentInvalidations>
export type PurgeItem = RecentPurges['items'][number]
export type Invalidation = RecentInvalidations['items'][number]

/** Whether a list has the result of a search through the whole log. */
export function isSearch(listed: RecentPurges | null): listed is RecentPurges {
  return listed?.searchedTo !== undefined
}

/** What the daemon searches its log for: the words of a filter that an entry has to contain. The screen applies all other words itself. */
export function searchOf(filter: string): string {
  return wordsOf(filter)
    .filter((word) => !/^[!>]|[|*]/.test(word))
    .join(' ')
}

/** Purges per second over the last minute, or over the time that a full list covers. `time`: milliseconds since the epoch. */
export function purgeRate({ items, limit }: RecentPurges, time: number): number {
  const within = items.filter(({ createdAt }) => time - Date.parse(createdAt) <= 60_000)
  const oldest = within.at(-1)
  if (oldest === undefined) return 0
  const span = within.length < limit ? 60_000 : Math.max(1000, time - Date.parse(oldest.createdAt))
  return (within.length * 1000) / span
}

/** The source of an invalidation, with the API client if there is one. */
export function whoOf({ source, actor }: Pick<Invalidation, 'source' | 'actor'>): string {
  // A daemon of an earlier version names no actor of a purge.
  return actor ? `${source} ${actor}` : source
}

/** Counts invalidations and removed pages by source and client, the most frequent first. */
export function causes(items: readonly Invalidation[]): { who: string; count: number; pages: number }[] {
  return [...Map.groupBy(items, whoOf)]
    .map(([who, asked]) => ({
      who,
      count: asked.length,
      pages: asked.reduce((sum, { pagesRemoved }) => sum + pagesRemoved, 0),
    }))
    .toSorted((left, right) => right.count - left.count)
}

/** `1 page`, `1,234 pages` */
export function pagesText(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'page' : 'pages'}`
}
