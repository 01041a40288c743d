import type { Watched } from './tabs/warmup/watched.ts'

/** The progress of a run, for a line of text. */
export function toAdvance({ progress, live }: Watched & { progress: NonNullable<Watched['progress']> }) {
  return {
    kind: 'advance' as const,
    done: progress.processed_urls + progress.failed_urls,
    total: progress.total_urls,
    percentage: progress.percentage,
    perSecond: live?.rate.now ?? progress.urls_per_second,
    etaSeconds: live?.eta?.seconds ?? null,
    failed: progress.failed_urls,
    paused: progress.status === 'paused',
  }
}
