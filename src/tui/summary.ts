import { formatCount, formatDuration } from '../lib/format.ts'
import { durationOf } from '../operations/warmup-duration.ts'
import { isOver } from './tabs/warmup/watched.ts'
import type { Watched } from './tabs/warmup/watched.ts'

/** The summary that stays on the terminal after a warmup was watched. */
export function warmupSummary({ progress, live }: Watched): string[] {
  if (progress === null) return ['No warmup yet. Start one: pagecache warmup:start']
  const done = progress.processed_urls + progress.failed_urls
  const counts = [
    `${formatCount(progress.processed_urls - progress.skipped_urls)} fetched`,
    `${formatCount(progress.skipped_urls)} already fresh`,
    `${formatCount(progress.failed_urls)} failed`,
  ]
  const reasons = live
    ? Object.entries({ ...live.results.notStored, ...live.results.failed }).toSorted(
        ([, left], [, right]) => right - left,
      )
    : []
  return [
    `Warmup ${progress.id}: ${progress.status}, ${progress.percentage.toFixed(2)} %, ${formatCount(done)} of ${formatCount(progress.total_urls)} pages in ${formatDuration(durationOf(progress))}`,
    `  ${counts.join(', ')}${live && live.rate.average > 0 ? `; ${live.rate.average.toFixed(1)} pages/s on average` : ''}`,
    ...(progress.message === null ? [] : [`  ${progress.message}`]),
    ...(reasons.length === 0
      ? []
      : [`  not cached: ${reasons.map(([reason, count]) => `${reason} ${formatCount(count)}`).join(', ')}`]),
    ...(progress.failed_urls === 0 ? [] : [`  failed URLs: pagecache warmup:failures ${progress.id}`]),
    ...(isOver(progress.status) ? [] : [`  it continues; watch it with: pagecache warmup:watch ${progress.id}`]),
  ]
}
