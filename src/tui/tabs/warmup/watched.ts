import type { watchWarmup } from '../../../operations/warmup-watch.ts'

/** What `warmup.watch` answers. */
export type Watched = Awaited<ReturnType<typeof watchWarmup.run>>
export type Progress = NonNullable<Watched['progress']>
export type Live = NonNullable<Watched['live']>

/** A run that nobody has written of for so long has no worker (milliseconds). */
const silentAfter = 3000

/** For how long no worker has told of a running run, in milliseconds; null while one does, or none is needed. */
export function silence({ progress, live }: Watched): number | null {
  if (progress?.status !== 'running' || live === null) return null
  const silent = live.at - Math.max(live.updatedAt ?? 0, Date.parse(progress.created_at))
  return silent >= silentAfter ? silent : null
}

export function isOver(status: Progress['status']): boolean {
  return status !== 'running' && status !== 'paused'
}
