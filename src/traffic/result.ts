import { visitorResults, type Result, type VisitorResult } from './traffic.ts'

/** Derives the result from the `Cache-Status` of an answer. */
export function resultOf(cacheStatus: string | null): Result {
  if (cacheStatus === null) return 'refused'
  if (cacheStatus.includes('; hit')) return cacheStatus.includes('detail="stale') ? 'stale' : 'hit'
  if (cacheStatus.includes('; collapsed')) return 'miss'
  if (!askedShop(cacheStatus)) return 'error'
  return /; fwd=(?:bypass|method)/.test(cacheStatus) ? 'pass' : 'miss'
}

/** Whether the shop has answered this very request. Visitors who wait for the fetch of another one have not asked it. */
export function askedShop(cacheStatus: string): boolean {
  return cacheStatus.includes('; fwd-status=')
}

/** Whether a visitor of a sales channel caused the request. */
export function isVisitors(result: Result): result is VisitorResult {
  return (visitorResults as readonly Result[]).includes(result)
}

/** Longest reason, in characters. */
const longestReason = 160

/** Why an answer is no plain hit, in words; null for a hit. */
export function reasonOf(cacheStatus: string | null): string | null {
  if (cacheStatus === null) return 'no answer'
  const detail = /; detail="([^"]*)"/.exec(cacheStatus)?.[1]
  if (detail !== undefined) return detail.slice(0, longestReason)
  if (cacheStatus.includes('; hit')) return null
  if (cacheStatus.includes('; collapsed')) return 'waited for the fetch of another visitor'
  return cacheStatus.includes('; fwd=stale') ? 'expired' : 'not cached yet'
}
