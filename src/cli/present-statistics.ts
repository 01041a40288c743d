import { formatBytes } from '../lib/format-bytes.ts'
import { formatDuration } from '../lib/format.ts'
import type { Statistics } from '../operations/cache.ts'
import { pageTypes, singular } from '../pages/page.ts'
import type { Output } from './output.ts'

/** Prints the statistics: totals first, then each page type. */
export async function presentStatistics(value: Statistics, output: Output): Promise<void> {
  const { aggregated } = value
  output.pairs([
    ['pages', value.totalFiles],
    ['size', value.totalSizeFormatted],
    ['uncompressed', formatBytes(aggregated.totalOriginalSize)],
    ['saved', formatBytes(aggregated.totalSpaceSaved)],
    ['generation time', formatDuration(aggregated.avgGenerationTime)],
    ['hit time', formatDuration(aggregated.avgCacheHitTime)],
    ['compression', aggregated.compressionEnabled ? 'on' : 'off'],
  ])
  output.line()
  const rows = pageTypes.map((type) => {
    const detail = value.byTypeDetailed[singular[type]]
    return [
      type,
      detail.count,
      formatBytes(detail.spaceSaved),
      formatDuration(detail.avgGenerationTime),
      formatDuration(detail.avgCacheHitTime),
    ]
  })
  await output.table(['type', 'pages', 'saved', 'generation time', 'hit time'], rows)
}
