import { directivesOf } from './cache-control.ts'
import type { Obstacle, Outcome } from './coalesce.ts'
import { otherHead, type Fetched } from './fetched.ts'
import { serverErrors } from './freshness.ts'
import type { Lookup } from './lookup.ts'
import { isTypicalRequest } from './may-store.ts'
import { secondaryKey, selects } from './vary.ts'
import type { HeldPage } from './view.ts'

/** Statuses that say little about the response to the next request. */
export const passingErrors = new Set([...serverErrors, 429])

/** Whether a request has nothing that could make its response unfit for others. */
export function isPlain(lookup: Lookup): boolean {
  return (
    lookup.unkeyedCookies === null &&
    lookup.mayReuse &&
    !lookup.odd &&
    lookup.field('range') === null &&
    isTypicalRequest(lookup)
  )
}

/** What keeps visitors from sharing a response that must not be shared. */
export function obstacleIn(lookup: Lookup, fetched: Fetched): Obstacle {
  if (fetched.notStored === otherHead) return 'HEAD'
  const { private: isPrivate, noStore } = directivesOf(fetched.kind === 'stream' ? fetched.headers : fetched.live)
  return isPlain(lookup) || isPrivate || noStore || passingErrors.has(fetched.status) ? 'response' : 'request'
}

/**
 * The name of the fetch that a visitor starts or joins after they have waited in vain; null: they fetch for themselves, and others cannot
 * join. The request of one visitor must not send all others to the shop (docs/decisions/0180-after-waiting-in-vain.md).
 */
export function nextFetch(
  outcome: Extract<Outcome<{ held: HeldPage }>, { kind: 'page' | 'unshareable' }>,
  lookup: Lookup,
): string | null {
  if (outcome.kind === 'page') {
    const { page } = outcome.page.held
    return selects(page, lookup) ? null : variantName(lookup, Object.keys(page.vary))
  }
  if (outcome.obstacle === 'HEAD') return lookup.visit.method === 'HEAD' ? null : lookup.key
  return outcome.obstacle === 'request' && isPlain(lookup) ? lookup.key : null
}

/** Visitors with the same values of the fields that the page varies by get the same page. A key has no empty line. */
function variantName(lookup: Lookup, vary: readonly string[]): string {
  return `${lookup.key}\n\n${JSON.stringify(secondaryKey(vary, lookup))}`
}
