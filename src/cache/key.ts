import { unconfirmedMark } from '../pages/page-row.ts'
import type { Channel } from './channel.ts'
import { digest } from './ledger.ts'
import type { Target } from './target.ts'
import { VisitorClassifier, type ClassSettings } from './visitor-classes.ts'

/** The cookies and headers that select a variant, as configured. */
export interface VariantSettings {
  /** Names; `a | b` is the first of the two that the visitor has. */
  cookies: readonly string[]
  headers: readonly string[]
  /** Variant cookies that visitors may choose freely: the page depends on the value alone, not on a session. */
  freeCookies?: readonly string[]
  /** Visitors' classes by name. */
  map?: Readonly<Record<string, ClassSettings>>
}

export interface VariantRules {
  /** The alternatives of each variant cookie: the first that a visitor has is part of the key. */
  cookies: readonly (readonly string[])[]
  /** All of these cookies, and those that visitors' classes replace. */
  names: ReadonlySet<string>
  /** In lower case, with those of visitors' classes. */
  headers: readonly string[]
  freeCookies: readonly string[]
  classes: VisitorClassifier
}

export function toVariantRules({ cookies, headers, freeCookies = [], map }: VariantSettings): VariantRules {
  const classes = new VisitorClassifier(map)
  const groups = cookies.map((group) => group.split('|').map((name) => name.trim()))
  return {
    cookies: groups,
    names: new Set([...groups.flat(), ...classes.cookies]),
    headers: [...headers.map((name) => name.toLowerCase()), ...classes.fields],
    freeCookies,
    classes,
  }
}

/** The variant cookies of a request that are part of its key, in the order of the rules. */
export function variantsOf(
  rules: VariantRules,
  cookies: ReadonlyMap<string, string>,
): readonly (readonly [name: string, value: string])[] {
  const chosen: [string, string][] = []
  for (const group of rules.cookies) {
    for (const name of group) {
      const value = cookies.get(name)
      if (value === undefined || value === '') continue
      chosen.push([name, value])
      break
    }
  }
  return chosen
}

/**
 * The cookies that the shop gets with a request whose response may be stored: without variant cookies that are not part of the key, because
 * another one replaced them or they are empty. A shop may ask only whether a cookie exists.
 */
export function cookiesForShop(rules: VariantRules, cookies: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const chosen = new Set(variantsOf(rules, cookies).map(([name]) => name))
  return new Map([...cookies].filter(([name]) => chosen.has(name) || !rules.names.has(name)))
}

/** Shopware's cookies that select a variant. */
export const shopwareVariants = { hash: 'sw-cache-hash', currency: 'sw-currency' } as const

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
  for (const [name, value] of variantsOf(rules, cookies)) {
    if (value.length > longestVariant) return null
    key += `\ncookie ${name}=${value}`
  }
  for (const name of rules.headers) {
    const value = field(name)
    if (value === null || value === '') continue
    if (value.length > longestVariant) return null
    key += `\nheader ${name}=${value}`
  }
  if (isScript(field) && !rules.headers.includes(scriptField)) key += `\nheader ${scriptField}=${scriptValue}`
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
export function unkeyedCookies(cookies: ReadonlyMap<string, string>, keyed: ReadonlySet<string>): string | null {
  const rest = [...cookies].filter(([name]) => !keyed.has(name)).map(([name, value]) => `${name}=${value}`)
  return rest.length === 0 ? null : rest.toSorted().join('; ')
}
