import { hash } from 'node:crypto'
import { Failures } from './failures.ts'
import { invalidToken, maxTokenLength, allScopes, type Judge, type Judgement, type Presenter } from './judgement.ts'
import { LRUCache } from 'lru-cache'

/** Asks the shop whether its admin API accepts a token. @throws if the shop does not answer */
export type AskShop = (token: string, host: string) => Promise<boolean>

/** How long an accepted and a refused token is kept (milliseconds). */
const acceptedFor = 60_000
const refusedFor = 5_000

/** Most tokens in memory. */
const maxKnown = 10_000

interface KnownToken {
  judgement: Judgement
  /** Milliseconds since the epoch. */
  until: number
}

/** Judges tokens issued by the shop, by asking the shop once for each token. Only hashes of tokens are kept. */
export class ShopAuthority implements Judge {
  readonly #ask: AskShop
  readonly #now: () => number
  readonly #known = new LRUCache<string, KnownToken>({ max: maxKnown })
  readonly #pending = new Map<string, Promise<Judgement>>()
  readonly #failures: Failures

  /** @param now milliseconds since the epoch, steady */
  constructor(ask: AskShop, now: () => number, failures = new Failures(now)) {
    this.#ask = ask
    this.#now = now
    this.#failures = failures
  }

  judge(token: string, presenter: Presenter): Judgement | Promise<Judgement> {
    if (token.length > maxTokenLength || !/^[\w.~+/-]+=*$/.test(token)) return invalidToken
    // A token of one shop must not count at another one.
    const key = hash('sha256', `${presenter.host}\n${token}`, 'base64')
    const known = this.#known.get(key)
    if (known !== undefined && this.#now() < known.until) return known.judgement
    const retryAfter = this.#failures.limitOf(presenter.address)
    if (retryAfter !== null) return { kind: 'limited', retryAfter }
    const pending = this.#pending.get(key)
    if (pending !== undefined) return pending
    const judgement = this.#judgeNew(key, token, presenter).finally(() => this.#pending.delete(key))
    this.#pending.set(key, judgement)
    return judgement
  }

  async #judgeNew(key: string, token: string, { address, host }: Presenter): Promise<Judgement> {
    const payload = payloadOf(token)
    let accepted: boolean
    try {
      accepted = await this.#ask(token, host)
    } catch {
      return { kind: 'unavailable', message: 'The shop, which issues the tokens, cannot be reached.' }
    }
    if (!accepted) {
      this.#failures.count(address, null)
      this.#known.set(key, { judgement: invalidToken, until: this.#now() + refusedFor })
      return invalidToken
    }
    const judgement: Judgement = { kind: 'accepted', actor: actorOf(payload), scopes: allScopes }
    this.#known.set(key, { judgement, until: Math.min(this.#now() + acceptedFor, expiryOf(payload)) })
    return judgement
  }
}

/** The unverified payload of a JWT; it is trusted only once the shop has accepted the token. */
function payloadOf(token: string): Record<string, unknown> {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function expiryOf({ exp }: Record<string, unknown>): number {
  return typeof exp === 'number' ? exp * 1000 : Infinity
}

/** The actor of a token: Shopware writes the user into `sub`, and the integration or the administration into `aud`. */
function actorOf({ sub, aud }: Record<string, unknown>): string {
  const named = [sub, Array.isArray(aud) ? aud[0] : aud].find(
    (name) => typeof name === 'string' && /^[\w.-]{1,64}$/.test(name),
  )
  return `shop:${String(named ?? 'unknown')}`
}
