import { hash } from 'node:crypto'
import { jwtVerify, type JWTPayload } from 'jose'
import type { CustomerTokenSettings } from '../config/schema.ts'
import type { CustomerKey } from './customer-key.ts'
import { maxTokenLength } from './judgement.ts'
import { LRUCache } from 'lru-cache'

/** How much the clocks of the shop and this machine may differ, in seconds. */
const leeway = 5
/** How long a verified token is trusted without another check, in milliseconds. */
const trustedFor = 60_000
/** Most tokens in memory: about two megabytes. */
const maxKnown = 10_000

/** Allowed header fields. `jku`, `x5u`, `jwk`, `crit` and the like name a key of the sender or change the meaning of the token. */
const knownFields = new Set(['alg', 'typ', 'kid'])

/**
 * Verifies the tokens by which the shop identifies a logged-in customer. Key and algorithm come from the configuration: a token cannot
 * choose them, and nothing that it names is opened or fetched.
 */
export class CustomerTokens {
  readonly #key: CustomerKey
  readonly #settings: CustomerTokenSettings
  /** Milliseconds since the epoch. */
  readonly #now: () => number
  readonly #known = new LRUCache<string, { customer: string; until: number }>({ max: maxKnown })

  constructor(key: CustomerKey, settings: CustomerTokenSettings, now: () => number) {
    this.#key = key
    this.#settings = settings
    this.#now = now
  }

  /** The customer in a token's claim; null for an invalid token. Synchronous for a recently verified token. */
  read(token: string): string | null | Promise<string | null> {
    if (token.length > maxTokenLength || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null
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
        until: Math.min(now + trustedFor, (payload as Required<JWTPayload>).exp * 1000),
      })
      return customer
    } catch {
      // A visitor with an invalid token counts as not logged in; the token is not logged.
      return null
    }
  }
}

/** The key id selects nothing here, but one that looks like a path shows an attack. */
function isHarmless(kid: unknown): boolean {
  return kid === undefined || (typeof kid === 'string' && /^[\w.:=+-]{1,256}$/.test(kid))
}

/** A customer's id or number as text; null for any other value. */
function toText(claim: unknown): string | null {
  if (typeof claim === 'string') return claim
  return Number.isSafeInteger(claim) ? String(claim) : null
}
