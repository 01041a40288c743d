import { hash } from 'node:crypto'
import { jwtVerify, type JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import type { CustomerTokenSettings } from '../config/schema.ts'
import type { CustomerKey } from './customer-key.ts'
import { longestToken } from './judgement.ts'

/** The clocks of the shop and this machine may differ by so much, in seconds. */
const leeway = 5
/** So long a token is believed without being checked again, in milliseconds: less than a page view. */
const believedFor = 60_000
/** Tokens that are remembered, by a digest of 43 characters: some two megabytes. */
const mostRemembered = 10_000

/** Header fields that a token may have. `jku`, `x5u`, `jwk`, `crit` and the like name a key of the sender's, or change what is meant. */
const knownFields = new Set(['alg', 'typ', 'kid'])

/**
 * Tokens in which the shop says who is logged in. One key and one algorithm, both from the configuration: nothing in a token chooses
 * them, and nothing that it names is opened or fetched.
 */
export class CustomerTokens {
  readonly #key: CustomerKey
  readonly #settings: CustomerTokenSettings
  /** Milliseconds since the epoch. */
  readonly #now: () => number
  readonly #known = new LRUCache<string, { customer: string; until: number }>({ max: mostRemembered })

  constructor(key: CustomerKey, settings: CustomerTokenSettings, now: () => number) {
    this.#key = key
    this.#settings = settings
    this.#now = now
  }

  /** What a token's claim says; null for one that is not good, whatever is wrong with it. At once where it was good a moment ago. */
  read(token: string): string | null | Promise<string | null> {
    if (token.length > longestToken || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null
    const digest = hash('sha256', token, 'base64url')
    const known = this.#known.get(digest)
    if (known !== undefined && known.until > this.#now()) return known.customer
    return this.#verify(token, digest)
  }

  async #verify(token: string, digest: string): Promise<string | null> {
    const { issuer, audience, claim } = this.#settings
    const now = this.#now()
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#key.key, {
        algorithms: [this.#key.algorithm],
        clockTolerance: leeway,
        currentDate: new Date(now),
        requiredClaims: ['exp', claim],
        ...(issuer !== null && { issuer }),
        ...(audience !== null && { audience }),
      })
      if (Object.keys(protectedHeader).some((field) => !knownFields.has(field)) || !isHarmless(protectedHeader.kid))
        return null
      const customer = toText(payload[claim])
      if (customer === null) return null
      this.#known.set(digest, {
        customer,
        until: Math.min(now + believedFor, (payload as Required<JWTPayload>).exp * 1000),
      })
      return customer
    } catch {
      // A visitor with a bad token is a visitor without a customer; what it holds is nobody's business.
      return null
    }
  }
}

/** The id of a key chooses nothing here; one that looks like a path was made by somebody who hopes otherwise. */
function isHarmless(kid: unknown): boolean {
  return kid === undefined || (typeof kid === 'string' && /^[\w.:=+-]{1,256}$/.test(kid))
}

/** Shops number their customers, or give them ids. */
function toText(claim: unknown): string | null {
  if (typeof claim === 'string') return claim
  return Number.isSafeInteger(claim) ? String(claim) : null
}
