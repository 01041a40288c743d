import { hash } from 'node:crypto'
import { oncePerTurn } from '../lib/once-per-turn.ts'
import type { Records } from '../records/open.ts'
import { authenticate, findActiveClient, noteUse, type Client } from './clients.ts'
import { Failures } from './failures.ts'
import {
  expiredToken,
  invalidToken,
  longestToken,
  allScopes,
  type Judge,
  type Judgement,
  type Scope,
} from './judgement.ts'
import type { KeyRing } from './key-ring.ts'
import { Remembered } from './remembered.ts'
import { signToken, verifyToken, type Claims } from './tokens.ts'

/** A client's request for a token. */
export interface Grant {
  clientId: string
  clientSecret: string
  /** What is asked for, blanks between; null for all that the client may do. */
  scope: string | null
  address: string
}

/** What comes of it; times in seconds. */
export type Granted =
  | { kind: 'granted'; token: string; expiresIn: number; scopes: readonly Scope[] }
  | { kind: 'unknown-client' }
  | { kind: 'invalid-scope' }
  | { kind: 'limited'; retryAfter: number }

interface Seen {
  claims: Claims
  judgement: Judgement
  /** What the records were when the client was found in them. */
  version: string
}

/** Tokens that were seen lately; a client has one or two. */
const mostSeen = 10_000

/** The longest client id or secret that is looked at. */
const longestCredential = 200

/** Issues tokens to our own clients and judges them. */
export class Authority implements Judge {
  readonly #records: Records
  readonly #keys: KeyRing
  readonly #lifetime: number
  readonly #seen = new Remembered<Seen>(mostSeen)
  readonly #failures: Failures
  readonly #version: () => string

  /** @param lifetime of tokens, milliseconds */
  constructor(records: Records, keys: KeyRing, lifetime: number, failures = new Failures(() => performance.now())) {
    this.#failures = failures
    this.#records = records
    this.#keys = keys
    this.#lifetime = lifetime
    this.#version = oncePerTurn(() => records.version())
  }

  async grant({ clientId, clientSecret, scope, address }: Grant): Promise<Granted> {
    const wait = this.#failures.limitOf(address)
    if (wait !== null) return { kind: 'limited', retryAfter: wait }
    const sound = clientId.length <= longestCredential && clientSecret.length <= longestCredential
    const client = sound ? await authenticate(this.#records, clientId, clientSecret) : null
    if (client === null) {
      const retryAfter = this.#failures.note(address, sound ? clientId : null)
      return retryAfter === null ? { kind: 'unknown-client' } : { kind: 'limited', retryAfter }
    }
    const granted = narrow(client, scope)
    if (granted === null) return { kind: 'invalid-scope' }
    const token = await signToken(this.#keys, { id: client.id, scopes: granted }, this.#records.now(), this.#lifetime)
    // Nobody waits for it, least of all while another process holds the lock.
    void noteUse(this.#records, client)
    return { kind: 'granted', token, expiresIn: Math.floor(this.#lifetime / 1000), scopes: granted }
  }

  judge(token: string): Judgement | Promise<Judgement> {
    if (token.length > longestToken) return invalidToken
    const key = hash('sha256', token, 'base64')
    const seen = this.#seen.get(key)
    if (seen === undefined) return this.#judgeNew(key, token)
    // A key that was dropped and a client that was revoked, by any process, count at once.
    if (this.#keys.find(seen.claims.kid) === null) return invalidToken
    if (this.#records.now() >= seen.claims.expiresAt * 1000) return expiredToken
    if (seen.version === this.#version()) return seen.judgement
    return this.#judgeClaims(key, seen.claims)
  }

  async #judgeNew(key: string, token: string): Promise<Judgement> {
    const claims = await verifyToken(this.#keys, token, this.#records.now())
    if (claims === 'expired') return expiredToken
    return claims === null ? invalidToken : this.#judgeClaims(key, claims)
  }

  async #judgeClaims(key: string, claims: Claims): Promise<Judgement> {
    const version = this.#records.version()
    const client = await findActiveClient(this.#records, claims.clientId)
    if (client === null) {
      this.#seen.delete(key)
      return invalidToken
    }
    const judgement: Judgement = {
      kind: 'accepted',
      actor: client.id,
      scopes: claims.scopes.filter((scope) => client.scopes.includes(scope)),
    }
    this.#seen.set(key, { claims, judgement, version })
    return judgement
  }
}

/** What a client gets of what it asks for; null where that is more than it may, or nothing that there is. */
function narrow(client: Client, scope: string | null): Scope[] | null {
  const asked = scope === null ? [] : scope.split(' ').filter((word) => word !== '')
  if (asked.length === 0) return client.scopes
  if (!asked.every((word) => client.scopes.some((own) => own === word))) return null
  return allScopes.filter((own) => asked.includes(own))
}
