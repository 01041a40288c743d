import type { ValueOf } from '../../../operations/operation.ts'
import type { watchWarmup } from '../../../operations/warmup-watch.ts'

/** Value of `warmup.watch`. */
export type Watched = ValueOf<typeof watchWarmup>
export type Progress = NonNullable<Watched['progress']>
export type Live = NonNullable<Watched['live']>

/** Silence after which a running run counts as having no worker, in milliseconds. */
const silentAfter = 3000

/** Time since a worker last reported on a running run, in milliseconds; null while one reports or none has to. */
export function silence({ progress, live }: Watched): number | null {
  if (progress?.status !== 'running' || live === null || live.behind) return null
  const silent = live.at - Math.max(live.updatedAt ?? 0, Date.parse(progress.created_at))
  return silent >= silentAfter ? silent : null
}

/** What is told of a run that begins after another one; null if it does not wait. */
export function waitingText({ live }: Pick<Watched, 'live'>): string | null {
  return live?.behind ? `Begins after warmup ${live.behind}, which the workers process first` : null
}

export function isOver(status: Progress['status']): boolean {
  return status !== 'running' && status !== 'paused'
}
