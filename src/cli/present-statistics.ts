import { formatBytes } from '../lib/format-bytes.ts'
import { formatMs } from '../lib/format.ts'
import type { Statistics } from '../operations/cache.ts'
import { pageTypes, singular } from '../pages/page.ts'
import { presentList, type Column } from './list.ts'
import type { Output } from './output.ts'
import { formatRatio } from './present-traffic.ts'

/** Hit ratios, 0 to 1; null without any request for a page. */
export interface Ratios {
  lastHour: number | null
  lastDay: number | null
}

function ratioPairs(ratios: Ratios | null): [string, string][] {
  if (ratios === null) return []
  return [
    ['hit ratio, last hour', formatRatio(ratios.lastHour)],
    ['hit ratio, last day', formatRatio(ratios.lastDay)],
  ]
}

function sharedHits({ usable, hits }: NonNullable<Statistics['shared']>): [string, string | number] {
  return ['shared hits', usable ? (hits ?? 0) : 'Redis is unreachable']
}

/** Prints the statistics: hit ratios and totals first, then each page type. */
export async function presentStatistics(value: Statistics, ratios: Ratios | null, output: Output): Promise<void> {
  const { aggregated } = value
  output.pairs([
    ...ratioPairs(ratios),
    ['pages', value.totalFiles],
    ['size', value.totalSizeFormatted],
    ['uncompressed', formatBytes(aggregated.totalOriginalSize)],
    ['saved', formatBytes(aggregated.totalSpaceSaved)],
    ['generation time', formatAverage(aggregated.avgGenerationTime)],
    ['hit time', formatAverage(aggregated.avgCacheHitTime)],
    ['compression', aggregated.compressionEnabled ? 'on' : 'off'],
    ...(value.shared === undefined ? [] : [sharedHits(value.shared)]),
  ])
  if (value.nodes !== undefined) await presentStores(value.nodes, output)
  // A pipe gets every type, so that a script finds the same lines each time.
  const types = pageTypes.filter((type) => !output.terminal || value.byType[type] > 0)
  if (types.length === 0) return
  output.line()
  const items = types.map((type) => ({ type, ...value.byTypeDetailed[singular[type]] }))
  await presentList({ columns, items, noun: 'type', empty: '' }, output, null)
}

/** Prints the page store of each node. */
async function presentStores(nodes: NonNullable<Statistics['nodes']>, output: Output): Promise<void> {
  output.line()
  await presentList({ columns: storeColumns, items: nodes, noun: 'node', empty: '' }, output, null)
}

const storeColumns: readonly Column<NonNullable<Statistics['nodes']>[number]>[] = [
  { name: 'node', value: ({ name }) => name, kind: 'text' },
  { name: 'pages', value: ({ totalFiles }) => totalFiles },
  { name: 'size', value: ({ totalSizeFormatted }) => totalSizeFormatted },
]

type TypeStatistics = Statistics['byTypeDetailed']['cms'] & { type: string }

const columns: readonly Column<TypeStatistics>[] = [
  { name: 'type', value: ({ type }) => type },
  { name: 'pages', value: ({ count }) => count },
  { name: 'saved', value: ({ spaceSaved }) => formatBytes(spaceSaved) },
  { name: 'generation time', value: ({ avgGenerationTime }) => formatAverage(avgGenerationTime), minor: true },
  { name: 'hit time', value: ({ avgCacheHitTime }) => formatAverage(avgCacheHitTime) },
]

/** An average in seconds; 0: nothing was measured. */
function formatAverage(seconds: number): string | null {
  return seconds === 0 ? null : formatMs(seconds * 1000)
}
