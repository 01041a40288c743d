import type { ValueOf } from '../../../operations/operation.ts'
import type { purgeStatistics, recentInvalidations, recentPurges } from '../../../operations/purge-log.ts'

/** What the operations of the two logs answer. */
export type PurgeStatistics = ValueOf<typeof purgeStatistics>
export type RecentPurges = ValueOf<typeof recentPurges>
export type RecentInvalidations = ValueOf<typeof recentInvalidations>
export type PurgeItem = RecentPurges['items'][number]
export type Invalidation = RecentInvalidations['items'][number]

/** Purges a second over the last minute; where more than the list holds came in it, over the time that the list covers. `time`: milliseconds since the epoch. */
export function purgeRate({ items, limit }: RecentPurges, time: number): number {
  const within = items.filter(({ createdAt }) => time - Date.parse(createdAt) <= 60_000)
  const oldest = within.at(-1)
  if (oldest === undefined) return 0
  const span = within.length < limit ? 60_000 : Math.max(1000, time - Date.parse(oldest.createdAt))
  return (within.length * 1000) / span
}

/** Who asked for an invalidation: an API client, or by which way it came. */
export function whoOf({ source, actor }: Pick<Invalidation, 'source' | 'actor'>): string {
  return actor === null ? source : `${source} ${actor}`
}

/** How often each of these asked, most often first. */
export function causes(items: readonly Invalidation[]): { who: string; count: number; pages: number }[] {
  return [...Map.groupBy(items, whoOf)]
    .map(([who, asked]) => ({
      who,
      count: asked.length,
      pages: asked.reduce((sum, { pagesRemoved }) => sum + pagesRemoved, 0),
    }))
    .toSorted((left, right) => right.count - left.count)
}
