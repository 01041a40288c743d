import { hash } from 'node:crypto'
import { oncePerTurn } from '../lib/once-per-turn.ts'
import type { Records } from '../records/open.ts'
import { authenticate, findActiveClient, recordUse, type Client } from './clients.ts'
import { Failures } from './failures.ts'
import {
  expiredToken,
  invalidToken,
  maxTokenLength,
  allScopes,
  type Judge,
  type Judgement,
  type Scope,
} from './judgement.ts'
import type { KeyRing } from './key-ring.ts'
import { LRUCache } from 'lru-cache'
import { Sessions } from './sessions.ts'
import { signToken, verifyToken, type Claims } from './tokens.ts'

/** A client's request for a token. */
export interface Grant {
  clientId: string
  clientSecret: string
  /** The requested scopes, separated by spaces; null for all scopes of the client. */
  scope: string | null
  address: string
}

/** The result of a grant; times in seconds. */
export type Granted =
  | { kind: 'granted'; token: string; expiresIn: number; scopes: readonly Scope[] }
  | { kind: 'unknown-client' }
  | { kind: 'invalid-scope' }
  | { kind: 'limited'; retryAfter: number }

interface KnownToken {
  claims: Claims
  judgement: Judgement
  /** The version of the records for which the judgement is valid. */
  version: string
}

/** Most tokens in memory; a client has one or two. */
const maxKnown = 10_000

/** Most characters of a client id or secret. */
const maxCredentialLength = 200

/** Issues and judges the tokens of API clients. */
export class Authority implements Judge {
  /** Logins of the admin page. */
  readonly sessions: Sessions
  readonly #records: Records
  readonly #keys: KeyRing
  readonly #lifetime: number
  readonly #known = new LRUCache<string, KnownToken>({ max: maxKnown })
  readonly #failures: Failures
  readonly #version: () => string

  /** @param lifetime of tokens, milliseconds */
  constructor(records: Records, keys: KeyRing, lifetime: number, failures = new Failures(() => performance.now())) {
    this.#failures = failures
    this.sessions = new Sessions(records, keys)
    this.#records = records
    this.#keys = keys
    this.#lifetime = lifetime
    this.#version = oncePerTurn(() => records.version())
  }

  async grant({ clientId, clientSecret, scope, address }: Grant): Promise<Granted> {
    const wait = this.#failures.limitOf(address)
    if (wait !== null) return { kind: 'limited', retryAfter: wait }
    const isPlausible = clientId.length <= maxCredentialLength && clientSecret.length <= maxCredentialLength
    const client = isPlausible ? await authenticate(this.#records, clientId, clientSecret) : null
    if (client === null) {
      const retryAfter = this.#failures.count(address, isPlausible ? clientId : null)
      return retryAfter === null ? { kind: 'unknown-client' } : { kind: 'limited', retryAfter }
    }
    const granted = narrow(client, scope)
    if (granted === null) return { kind: 'invalid-scope' }
    const token = await signToken(this.#keys, { id: client.id, scopes: granted }, this.#records.now(), this.#lifetime)
    // Not awaited: another process may hold the lock.
    void recordUse(this.#records, client)
    return { kind: 'granted', token, expiresIn: Math.floor(this.#lifetime / 1000), scopes: granted }
  }

  judge(token: string): Judgement | Promise<Judgement> {
    if (token.length > maxTokenLength) return invalidToken
    const key = hash('sha256', token, 'base64')
    const known = this.#known.get(key)
    if (known === undefined) return this.#judgeNew(key, token)
    if (this.#records.now() >= known.claims.expiresAt * 1000) return expiredToken
    // A dropped key or a revoked client takes effect at once, whichever process dropped or revoked it.
    if (known.version !== this.#version()) return this.#judgeAgain(key, known.claims)
    return this.#keys.has(known.claims.kid) ? known.judgement : invalidToken
  }

  async #judgeNew(key: string, token: string): Promise<Judgement> {
    const claims = await verifyToken(this.#keys, token, this.#records.now())
    if (claims === 'expired') return expiredToken
    return claims === null ? invalidToken : this.#judgeClaims(key, claims)
  }

  async #judgeAgain(key: string, claims: Claims): Promise<Judgement> {
    return (await this.#keys.find(claims.kid)) === null ? invalidToken : this.#judgeClaims(key, claims)
  }

  async #judgeClaims(key: string, claims: Claims): Promise<Judgement> {
    const version = this.#records.version()
    const client = await findActiveClient(this.#records, claims.clientId)
    if (client === null) {
      this.#known.delete(key)
      return invalidToken
    }
    const judgement: Judgement = {
      kind: 'accepted',
      actor: client.id,
      scopes: claims.scopes.filter((scope) => client.scopes.includes(scope)),
    }
    this.#known.set(key, { claims, judgement, version })
    return judgement
  }
}

/** The scopes to grant; null if the client requests an unknown scope or one that it does not have. */
function narrow(client: Client, scope: string | null): Scope[] | null {
  const requested = scope === null ? [] : scope.split(' ').filter((word) => word !== '')
  if (requested.length === 0) return client.scopes
  if (!requested.every((word) => client.scopes.some((own) => own === word))) return null
  return allScopes.filter((own) => requested.includes(own))
}
