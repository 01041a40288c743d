import { hash } from 'node:crypto'
import { Failures } from './failures.ts'
import { invalidToken, longestToken, allScopes, type Judge, type Judgement, type Presenter } from './judgement.ts'
import { Remembered } from './remembered.ts'

/** Asks the shop whether its admin API accepts a token. @throws where the shop gives no answer to that */
export type AskShop = (token: string, host: string) => Promise<boolean>

/** A shop's yes is believed for so long at most, its no for a moment, milliseconds (contract section 4). */
const longestBelief = 60_000
const disbelief = 5_000

const mostRemembered = 10_000

interface Answer {
  judgement: Judgement
  /** Milliseconds. */
  until: number
}

/** Judges tokens that the shop has issued, by asking the shop, once a token. Tokens are kept as hashes alone. */
export class ShopAuthority implements Judge {
  readonly #ask: AskShop
  readonly #now: () => number
  readonly #answers = new Remembered<Answer>(mostRemembered)
  readonly #asking = new Map<string, Promise<Judgement>>()
  readonly #failures: Failures

  /** @param now milliseconds since the epoch, steady */
  constructor(ask: AskShop, now: () => number, failures = new Failures(now)) {
    this.#ask = ask
    this.#now = now
    this.#failures = failures
  }

  judge(token: string, presenter: Presenter): Judgement | Promise<Judgement> {
    if (token.length > longestToken || !/^[\w.~+/-]+=*$/.test(token)) return invalidToken
    // A token of one shop says nothing at another one.
    const key = hash('sha256', `${presenter.host}\n${token}`, 'base64')
    const known = this.#answers.get(key)
    if (known !== undefined && this.#now() < known.until) return known.judgement
    const retryAfter = this.#failures.limitOf(presenter.address)
    if (retryAfter !== null) return { kind: 'limited', retryAfter }
    const underWay = this.#asking.get(key)
    if (underWay !== undefined) return underWay
    const asking = this.#judgeNew(key, token, presenter).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asking)
    return asking
  }

  async #judgeNew(key: string, token: string, { address, host }: Presenter): Promise<Judgement> {
    const payload = payloadOf(token)
    let accepted: boolean
    try {
      accepted = await this.#ask(token, host)
    } catch {
      return { kind: 'unavailable', message: 'The shop, which issues the tokens, does not answer.' }
    }
    if (!accepted) {
      this.#failures.note(address, null)
      this.#answers.set(key, { judgement: invalidToken, until: this.#now() + disbelief })
      return invalidToken
    }
    const judgement: Judgement = { kind: 'accepted', actor: actorOf(payload), scopes: allScopes }
    this.#answers.set(key, { judgement, until: Math.min(this.#now() + longestBelief, expiryOf(payload)) })
    return judgement
  }
}

/** What a JWT says of itself; it is read for a token that the shop is asked about, and believed of one that it accepts. */
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

/** Shopware writes the user into `sub`, and the integration or the administration into `aud`. */
function actorOf({ sub, aud }: Record<string, unknown>): string {
  const named = [sub, Array.isArray(aud) ? aud[0] : aud].find(
    (name) => typeof name === 'string' && /^[\w.-]{1,64}$/.test(name),
  )
  return `shop:${String(named ?? 'unknown')}`
}
