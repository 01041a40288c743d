import { formatHttpDate } from '../lib/http-date.ts'
import { formatCacheStatus } from './cache-status.ts'
import type { CacheAnswer } from './visit.ts'

const cacheStatus = formatCacheStatus({ kind: 'hit', detail: 'an empty path' })

/** The answer to a path of `cache.emptyPaths`. Not to be stored: the path has content once the visitor's cart is filled. */
export function emptyAnswer(now: number): CacheAnswer & { body: null } {
  return {
    status: 204,
    headers: [
      ['Date', formatHttpDate(now)],
      ['Cache-Control', 'no-store'],
      ['Cache-Status', cacheStatus],
    ],
    body: null,
  }
}
