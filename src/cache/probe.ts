import type { Clock } from '../lib/clock.ts'
import type { HeaderPair } from '../pages/page.ts'
import { discard } from './body.ts'
import { variantMismatch } from './confirmations.ts'
import { capability } from './esi/response.ts'
import { storableHeaders, withAuthorization } from './forward.ts'
import { lacksLifetime } from './lifetime-advice.ts'
import type { Lookup } from './lookup.ts'
import { reasonNotToStore } from './may-store.ts'
import { searchMismatch } from './no-vary-search.ts'
import type { OriginClient } from './origin.ts'

/** What the shop's response allows; `lacksLifetime`: see `lifetimeAdvice`. */
export interface Probed {
  status: number
  notStored: string | null
  lacksLifetime: boolean
  /** Of the response, as the shop sent it. */
  headers: readonly HeaderPair[]
}

interface StorageRules {
  /** In seconds. */
  defaultTtl: number
  now: Clock
}

/** Why a response may not be stored for a request; null if it may. */
export function reasonAgainst(
  { defaultTtl, now }: StorageRules,
  lookup: Lookup,
  status: number,
  headers: readonly HeaderPair[],
): string | null {
  return (
    (status < 500 ? searchMismatch(lookup.search, headers) : null) ??
    reasonNotToStore(lookup, status, headers, defaultTtl) ??
    variantMismatch(lookup.variantCookies, headers, now()) ??
    searchMismatch(lookup.search, headers)
  )
}

/** Requests a page from the origin and reports whether the response could be stored. Stores nothing. @throws OriginError */
export async function probe(
  lookup: Lookup,
  rules: StorageRules & { origin: OriginClient; esi: 'off' | 'auto' },
): Promise<Probed> {
  const { origin, defaultTtl, now } = rules
  const sent = storableHeaders(lookup.visit, lookup.channel, lookup.cookies).headers
  const { status, headers, body } = await origin.send({
    origin: lookup.channel.origin,
    method: 'GET',
    target: `${lookup.target.path}${lookup.target.query}`,
    headers: withAuthorization(
      [...sent, ['accept-encoding', 'identity'], ...(rules.esi === 'auto' ? [capability] : [])],
      lookup.channel,
    ),
    body: null,
    signal: null,
    limit: origin.totalTimeout,
    onInterim: () => {},
  })
  discard(body)
  return {
    status,
    headers,
    notStored: reasonAgainst(rules, lookup, status, headers),
    lacksLifetime: lacksLifetime(status, headers, { defaultTtl, now: now() }),
  }
}
