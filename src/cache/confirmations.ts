import type { HeaderPair } from '../pages/page.ts'
import { decodedForms } from './browser-values.ts'
import { fieldValue } from './fields.ts'
import { variantsOf, type VariantRules } from './key.ts'
import { digest, type ConfirmationLedger } from './ledger.ts'
import { cookieChanges } from './set-cookie.ts'

/** The parts of a request that identify a visitor: the channel and the cookies. */
export interface Visitor {
  channelId: string
  cookies: ReadonlyMap<string, string>
}

/**
 * Cookies of analytics, advertising and consent scripts, which change from page to page, and Shopware's states. They are never a
 * session, and a change of theirs must not make a visitor look like another one.
 */
const incidental =
  /^(?:_ga|_gid|_gat|_gcl_|_gac_|__utm|_fb[pc]$|_hj|_pk_|_uet|_cl(?:ck|sk)$|_tt|_pin_|_dc_gtm|__g(?:ads|pi)|amp_|mp_|ajs_|_dd_s$|cookie-preference$|google-a|youtube-|vimeo-|timezone$|sw-states$)/

/** A cookie value that may identify a session: long, with letters and digits. Settings such as consent and language do not match. */
const token = /^(?=.*\d)(?=.*[a-z])[\w ,+/=.:~!-]{16,}$/i
/** A visitor with more tokens never fills a shared page, because an attacker could hide the session among them. */
const mostTokens = 16

/**
 * Remembers which visitors got their variant cookies from the shop. A variant cookie names a state of the shop's session, such as a
 * customer group, but a visitor can send any value without that session. Only the response to a confirmed visitor becomes the page of
 * all visitors with the same value (docs/decisions/0050-confirmed-variants.md).
 *
 * The shop confirms a value with Set-Cookie on any response. The confirmation holds only together with the visitor's other cookies,
 * one of which is the session: without the session, or with a different one, it is void.
 */
export class Confirmations {
  readonly #rules: VariantRules
  readonly #ledger: ConfirmationLedger
  readonly #now: () => number

  constructor(rules: VariantRules, ledger: ConfirmationLedger, now: () => number) {
    this.#rules = rules
    this.#ledger = ledger
    this.#now = now
  }

  /** Whether a visitor's variant cookies are confirmed, and none that the session should have is missing. */
  covers(visitor: Visitor): boolean {
    if (visitor.cookies.size === 0) return true
    const tokens = this.#tokens(visitor.cookies)
    const lacking = this.#lacking(visitor.cookies)
    if (tokens.length > mostTokens) return false
    if (tokens.some((each) => lacking.some((name) => this.#ledger.has(givenDigest(visitor, name, each))))) return false
    const variant = this.#variantOf(visitor.cookies)
    return variant === '' || this.#ledger.has(digest(visitor.channelId, variant, this.ownCookies(visitor.cookies)))
  }

  /** Updates the confirmations of a visitor from a response of the shop. */
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
    const kept = this.#onlyAdds(visitor, changes)
    this.#rememberSessions({ ...visitor, cookies }, headers, changes)
    if (after !== before && before !== '')
      this.#ledger.delete(digest(visitor.channelId, before, this.ownCookies(visitor.cookies)))
    // A shop that sets one variant cookie does not confirm the others: each value needs its own confirmation.
    const confirmed = this.#given(cookies).every(([name, value]) => {
      const marked = fieldValue(headers, name.toLowerCase())
      if (changes.get(name) === value || marked === value) return true
      return marked === null && kept && visitor.cookies.get(name) === value
    })
    // Without other cookies, the confirmation would hold for every visitor.
    if (confirmed && after !== '' && own !== '') this.#ledger.add(digest(visitor.channelId, after, own))
  }

  /** Remembers which sessions have a variant. Without its variant cookie, such a session must not fill the page of other visitors. */
  #rememberSessions(
    visitor: Visitor,
    headers: readonly HeaderPair[],
    changes: ReadonlyMap<string, string | null>,
  ): void {
    const tokens = this.#tokens(visitor.cookies).slice(0, mostTokens)
    for (const name of this.#names()) {
      const value = changes.has(name) ? changes.get(name) : fieldValue(headers, name.toLowerCase())
      if (value === undefined || (value === null && !changes.has(name))) continue
      for (const each of tokens) {
        const text = givenDigest(visitor, name, each)
        if (value === null || value === '') this.#ledger.delete(text)
        else if (!this.#ledger.has(text)) this.#ledger.add(text)
      }
    }
  }

  /** The cookie values that may identify a session, decoded as a shop would. */
  #tokens(cookies: ReadonlyMap<string, string>): string[] {
    return [...cookies]
      .filter(([name]) => !this.#rules.names.has(name) && !incidental.test(name))
      .map(([, value]) => decodedForms(value).at(-1)!)
      .filter((value) => token.test(value))
  }

  /** Whether a response confirms all variant cookies of its request, by repeating them in Set-Cookie or in a field of the cookie's name. */
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
   * Whether a confirmed visitor stays confirmed after cookie changes: yes if cookies were only added; a replaced or deleted cookie may
   * have been the session.
   */
  #onlyAdds(visitor: Visitor, changes: ReadonlyMap<string, string | null>): boolean {
    const adds = [...changes].every(
      ([name, value]) =>
        incidental.test(name) ||
        this.#rules.names.has(name) ||
        visitor.cookies.get(name) === value ||
        (value !== null && !visitor.cookies.has(name)),
    )
    return adds && this.covers(visitor)
  }

  /** The visitor's other cookies, sorted, without variant cookies and incidental ones; empty if there are none. */
  ownCookies(cookies: ReadonlyMap<string, string>): string {
    const own = [...cookies].filter(([name]) => !this.#rules.names.has(name) && !incidental.test(name))
    return own
      .map(([name, value]) => `${name}=${value}`)
      .toSorted()
      .join('; ')
  }

  /** Names of the variant cookies that need a confirmation. */
  #names(): string[] {
    const { names, freeCookies } = this.#rules
    return [...names].filter((name) => !freeCookies.includes(name))
  }

  /** The variant cookies of a request's key that need a confirmation. */
  #given(cookies: ReadonlyMap<string, string>): (readonly [name: string, value: string])[] {
    return variantsOf(this.#rules, cookies).filter(([name]) => !this.#rules.freeCookies.includes(name))
  }

  /** The cookies that would change the key if the request had them, and that need a confirmation. */
  #lacking(cookies: ReadonlyMap<string, string>): string[] {
    const { freeCookies } = this.#rules
    return this.#rules.cookies.flatMap((group) => {
      const chosen = group.findIndex((name) => (cookies.get(name) ?? '') !== '')
      return (chosen < 0 ? group : group.slice(0, chosen)).filter((name) => !freeCookies.includes(name))
    })
  }

  #variantOf(cookies: ReadonlyMap<string, string>): string {
    return this.#given(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
  }
}

function givenDigest({ channelId }: Visitor, name: string, session: string): string {
  return digest('given', channelId, name, session)
}

/**
 * Why a response does not belong to the variant of its request: it changes a variant cookie, or a response field names another value
 * (Shopware from 6.7.6). Null if it belongs to it.
 *
 * @param given the request's variant cookies, with an empty value for an absent one
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
