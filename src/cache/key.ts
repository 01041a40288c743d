import { unconfirmedMark } from '../pages/page-row.ts'
import type { Channel } from './channel.ts'
import { digest } from './confirmations.ts'
import type { Target } from './target.ts'

export interface VariantRules {
  cookies: readonly string[]
  headers: readonly string[]
  /** Those of `cookies` that a visitor may choose: the page depends on the value alone, and on nothing in a session. */
  freeCookies?: readonly string[]
}

/** Longer values are no variant that a shop hands out; such a request is not cached. */
const longestVariant = 256

/** The absolute URL by which a page is known to operators and purges. */
export function canonicalUrl({ scheme, host }: Pick<Channel, 'scheme' | 'host'>, target: Target): string {
  return `${scheme}://${host}${target.path}${target.query}`
}

/**
 * The primary key: channel, URL and the variant cookies and headers that the request has. Null where a variant is too long to
 * be one. HEAD has the key of GET.
 */
export function primaryKey(
  channel: Channel,
  url: string,
  rules: VariantRules,
  cookies: ReadonlyMap<string, string>,
  field: (name: string) => string | null,
): string | null {
  let key = `${channel.id} ${url}`
  for (const name of rules.cookies) {
    const value = cookies.get(name)
    if (value === undefined || value === '') continue
    if (value.length > longestVariant) return null
    key += `\ncookie ${name}=${value}`
  }
  for (const name of rules.headers) {
    const value = field(name.toLowerCase())
    if (value === null || value === '') continue
    if (value.length > longestVariant) return null
    key += `\nheader ${name.toLowerCase()}=${value}`
  }
  if (isScript(field) && !rules.headers.some((name) => name.toLowerCase() === scriptField))
    key += `\nheader ${scriptField}=${scriptValue}`
  return key
}

/**
 * A storefront's script asks for a part of a page (Shopware's buybox). Shops answer it with something else than the page under the same
 * URL, and seldom say so in Vary: it is part of each key.
 */
export const scriptField = 'x-requested-with'
const scriptValue = 'XMLHttpRequest'

export function isScript(field: (name: string) => string | null): boolean {
  return field(scriptField) === scriptValue
}

/** The key of visitors whose variant cookies the shop has not confirmed: only who sends the same further cookies shares it. */
export function unconfirmedKey(sharedKey: string, ownCookies: string): string {
  return `${sharedKey}${unconfirmedMark}${digest(ownCookies)}`
}

/** What a visitor's cookies say beyond the key, sorted; null where they say nothing. */
export function unkeyedCookies(cookies: ReadonlyMap<string, string>, keyed: readonly string[]): string | null {
  const rest = [...cookies].filter(([name]) => !keyed.includes(name)).map(([name, value]) => `${name}=${value}`)
  return rest.length === 0 ? null : rest.toSorted().join('; ')
}
