import { createHash } from 'node:crypto'
import type { HeaderPair } from '../pages/page.ts'
import { fieldValue } from './fields.ts'
import type { VariantRules } from './key.ts'
import { cookieChanges } from './set-cookie.ts'

/** Digests of confirmed variants. Disposable, bounded, shared by all processes of a daemon. */
export interface Ledger {
  has(digest: string): boolean
  add(digest: string): void
  delete(digest: string): void
}

/** The cookies of a request and its channel, which together identify a visitor. */
export interface Visitor {
  channelId: string
  cookies: ReadonlyMap<string, string>
}

/**
 * Cookies that analytics, advertising and consent scripts change from page to page, and Shopware's states. They are
 * never a session and must not make one visitor look like two.
 */
const incidental =
  /^(?:_ga|_gid|_gat|_gcl_|_gac_|__utm|_fb[pc]$|_hj|_pk_|_uet|_cl(?:ck|sk)$|_tt|_pin_|_dc_gtm|__g(?:ads|pi)|amp_|mp_|ajs_|_dd_s$|cookie-preference$|google-a|youtube-|vimeo-|timezone$|sw-states$)/

/**
 * Remembers which visitors got their variant cookies from the shop. A variant cookie names a state that the shop keeps
 * in its session (a customer group, for example), but a visitor can send any value without that session. Only the
 * response to a confirmed visitor becomes the shared page of that variant (docs/decisions/0050-confirmed-variants.md).
 *
 * The shop confirms a variant with Set-Cookie on any response. A confirmation is bound to the variant and to the
 * visitor's other cookies, one of which is the session. It does not hold without that session.
 */
export class Confirmations {
  readonly #rules: VariantRules
  readonly #ledger: Ledger
  readonly #now: () => number

  constructor(rules: VariantRules, ledger: Ledger, now: () => number) {
    this.#rules = rules
    this.#ledger = ledger
    this.#now = now
  }

  /** Whether the shop has confirmed a visitor's variant cookies; true for a visitor without any. */
  covers(visitor: Visitor): boolean {
    const variant = this.#variantOf(visitor.cookies)
    return variant === '' || this.#ledger.has(digest(visitor.channelId, variant, this.ownCookies(visitor.cookies)))
  }

  /** Records or withdraws the confirmations that a response implies. */
  learn(visitor: Visitor, headers: readonly HeaderPair[]): void {
    const changes = cookieChanges(headers, this.#now())
    if (changes.size === 0 && !this.#isConfirmedBy(visitor.cookies, headers, changes)) return
    const before = this.#variantOf(visitor.cookies)
    const cookies = new Map(visitor.cookies)
    for (const [name, value] of changes) {
      if (value === null) cookies.delete(name)
      else cookies.set(name, value)
    }
    const after = this.#variantOf(cookies)
    const own = this.ownCookies(cookies)
    if (after !== before) {
      if (before !== '') this.#ledger.delete(digest(visitor.channelId, before, this.ownCookies(visitor.cookies)))
    } else if (!this.#isConfirmedBy(visitor.cookies, headers, changes) && !this.#onlyAdds(visitor, changes)) {
      return
    }
    // A confirmation bound to no other cookie would hold for every visitor.
    if (after !== '' && own !== '') this.#ledger.add(digest(visitor.channelId, after, own))
  }

  /**
   * Whether a response itself confirms all variant cookies of the visitor: it repeats each in Set-Cookie or in a
   * response field.
   */
  confirmedBy(visitor: Visitor, headers: readonly HeaderPair[]): boolean {
    return this.#isConfirmedBy(visitor.cookies, headers, cookieChanges(headers, this.#now()))
  }

  #isConfirmedBy(
    cookies: ReadonlyMap<string, string>,
    headers: readonly HeaderPair[],
    changes: ReadonlyMap<string, string | null>,
  ): boolean {
    const given = this.#given(cookies)
    return (
      given.length > 0 &&
      given.every(([name, value]) => changes.get(name) === value || fieldValue(headers, name.toLowerCase()) === value)
    )
  }

  /**
   * Whether a confirmed visitor only gained cookies. One whose cookies were replaced or deleted may have lost the
   * session.
   */
  #onlyAdds(visitor: Visitor, changes: ReadonlyMap<string, string | null>): boolean {
    const adds = [...changes].every(
      ([name, value]) =>
        incidental.test(name) || visitor.cookies.get(name) === value || (value !== null && !visitor.cookies.has(name)),
    )
    return adds && this.covers(visitor)
  }

  /** The cookies that distinguish this visitor from others, sorted; empty when there are none. */
  ownCookies(cookies: ReadonlyMap<string, string>): string {
    const own = [...cookies].filter(([name]) => !this.#rules.cookies.includes(name) && !incidental.test(name))
    return own
      .map(([name, value]) => `${name}=${value}`)
      .toSorted()
      .join('; ')
  }

  /** The variant cookies of a request that the shop must confirm. */
  #given(cookies: ReadonlyMap<string, string>): [name: string, value: string][] {
    const { cookies: names, freeCookies = [] } = this.#rules
    return names
      .filter((name) => !freeCookies.includes(name))
      .map((name): [string, string] => [name, cookies.get(name) ?? ''])
      .filter(([, value]) => value !== '')
  }

  #variantOf(cookies: ReadonlyMap<string, string>): string {
    return this.#given(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
  }
}

/**
 * Why a response must not be stored under the request's variant: it changes a variant cookie, or names another variant
 * (Shopware from 6.7.6). Null when it may be stored.
 *
 * @param given the request's variant cookies, empty where absent
 */
export function variantMismatch(
  given: ReadonlyMap<string, string>,
  headers: readonly HeaderPair[],
  now: number,
): string | null {
  if (given.size === 0) return null
  const changes = cookieChanges(headers, now)
  for (const [name, value] of given) {
    const change = changes.get(name)
    if (change !== undefined && (change ?? '') !== value) return `the response changes the variant cookie ${name}`
    const marked = fieldValue(headers, name.toLowerCase())
    if (marked !== null && marked !== value && changes.get(name) === undefined)
      return `the response is for a different ${name} than the request`
  }
  return null
}

/** A short digest, since many are kept, yet long enough that it cannot be guessed. */
export function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 27)
}
