import { pageTypes, singular, type PageType } from './page.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { TypeCounters } from './page-store.ts'

/** The statistics resource of the HTTP API. Sizes in bytes, times in seconds. */
export function toStatistics(counters: Record<PageType, TypeCounters>, compressionEnabled: boolean) {
  const all = totalsOf(counters)
  return {
    totalFiles: all.count,
    totalSize: all.size,
    totalSizeFormatted: formatBytes(all.size),
    byType: mapTypes(
      (type) => type,
      (type) => counters[type].count,
    ),
    aggregated: {
      totalPages: all.count,
      totalOriginalSize: all.originalSize,
      totalCachedSize: all.size,
      totalSpaceSaved: spaceSaved(all),
      avgGenerationTime: average(all.generationMs, all.count),
      avgCacheHitTime: average(all.hitMs, all.hits),
      compressionEnabled,
    },
    byTypeDetailed: mapTypes(
      (type) => singular[type],
      (type) => detail(counters[type]),
    ),
  }
}

/** The sums of all types. */
export function totalsOf(counters: Record<PageType, TypeCounters>): TypeCounters {
  return sum(pageTypes.map((type) => counters[type]))
}

/** The sums of several stores. */
export function addCounters(stores: readonly Record<PageType, TypeCounters>[]): Record<PageType, TypeCounters> {
  return mapTypes(
    (type) => type,
    (type) => sum(stores.map((counters) => counters[type])),
  )
}

function detail(counters: TypeCounters) {
  return {
    count: counters.count,
    spaceSaved: spaceSaved(counters),
    avgGenerationTime: average(counters.generationMs, counters.count),
    avgCacheHitTime: average(counters.hitMs, counters.hits),
  }
}

/** Never negative: bodies that compression would enlarge are stored as received, and rounding must not show. */
function spaceSaved(counters: TypeCounters): number {
  return Math.max(0, counters.originalSize - counters.size)
}

/** Average in seconds, to the microsecond. */
function average(milliseconds: number, times: number): number {
  return times === 0 ? 0 : Math.round((milliseconds / times) * 1000) / 1_000_000
}

function sum(all: readonly TypeCounters[]): TypeCounters {
  const total: TypeCounters = { count: 0, originalSize: 0, size: 0, generationMs: 0, hits: 0, hitMs: 0 }
  for (const counters of all) {
    for (const key of Object.keys(total) as (keyof TypeCounters)[]) total[key] += counters[key]
  }
  return total
}

/** An object with a value for each type. */
function mapTypes<Name extends string, Value>(
  name: (type: PageType) => Name,
  value: (type: PageType) => Value,
): Record<Name, Value> {
  return Object.fromEntries(pageTypes.map((type) => [name(type), value(type)])) as Record<Name, Value>
}
