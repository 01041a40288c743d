import type { HotRequest } from '../../cache/hot.ts'
import type { View } from '../../cache/hot-views.ts'
import { toSeen } from '../../traffic/live/seen.ts'
import type { FrontOptions } from './front-options.ts'
import { channelIdOf, nextRequestId } from './request-record.ts'

type HitFront = Pick<FrontOptions, 'cache' | 'traffic' | 'accessLog' | 'onError'>

/** What answers a request from memory or at once from the disk, or null. `beganEarlier` as in `HotPath.find`. */
export function findView(request: HotRequest, beganEarlier: boolean, { cache, onError }: HitFront): View | null {
  try {
    return cache.hot.find(request, beganEarlier)
  } catch (error) {
    onError('Could not look up a page in memory', error)
    return null
  }
}

/** Counts a hit in the statistics and writes it to the access log, if there is one. */
export function recordHit(
  { cache, traffic, accessLog }: HitFront,
  { method, scheme, host, target }: HotRequest,
  view: View,
  ms: number,
): void {
  const { status } = view
  cache.hot.count(view, ms)
  const subject = view.entry?.page ?? { channelId: channelIdOf(cache, { scheme, host, target }), type: 'other' }
  traffic.count('hit', status, ms, view.body?.length, subject)
  traffic.live?.note(toSeen({ method, host, target, result: 'hit', reason: null, status, ms }, subject))
  if (accessLog === null) return
  const path = target.split('?', 1)[0]!
  accessLog({ id: nextRequestId(), method, host, path, status, result: 'hit', ms, totalMs: ms })
}
