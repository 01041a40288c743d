import { unconfirmedMark } from '../pages/page-row.ts'
import type { Channel } from './channel.ts'
import { digest } from './ledger.ts'
import type { Target } from './target.ts'

export interface VariantRules {
  cookies: readonly string[]
  headers: readonly string[]
  /** Variant cookies that visitors may choose freely: the page depends on the value alone, not on a session. */
  freeCookies?: readonly string[]
}

/** No shop issues longer variant values. Requests with a longer one bypass the cache. */
const longestVariant = 256

/** The absolute URL that identifies a page to operators and purges. */
export function canonicalUrl({ scheme, host }: Pick<Channel, 'scheme' | 'host'>, target: Target): string {
  return `${scheme}://${host}${target.path}${target.query}`
}

/**
 * The primary cache key: channel, URL and the request's variant cookies and headers. Null when a variant value is too
 * long. HEAD shares the key of GET.
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
 * A request by a storefront script for a part of a page (Shopware's buybox). Shops answer it differently under the URL
 * of the page and rarely say so in Vary, so it is part of every key.
 */
export const scriptField = 'x-requested-with'
const scriptValue = 'XMLHttpRequest'

export function isScript(field: (name: string) => string | null): boolean {
  return field(scriptField) === scriptValue
}

/**
 * The key for visitors whose variant the shop has not confirmed. Only requests with the same other cookies share it.
 */
export function unconfirmedKey(sharedKey: string, ownCookies: string): string {
  return `${sharedKey}${unconfirmedMark}${digest(ownCookies)}`
}

/** The visitor's cookies outside the key, sorted; null when there are none. */
export function unkeyedCookies(cookies: ReadonlyMap<string, string>, keyed: readonly string[]): string | null {
  const rest = [...cookies].filter(([name]) => !keyed.includes(name)).map(([name, value]) => `${name}=${value}`)
  return rest.length === 0 ? null : rest.toSorted().join('; ')
}
