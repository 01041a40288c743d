import { trimEndingSlashes } from '../lib/url.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldValue, listElements } from './fields.ts'
import { shopwareVariants, type VariantRules } from './key.ts'
import { lenientPath } from './target.ts'

export interface BypassRules {
  /** Cookie names; a final `*` matches any ending. */
  cookies: readonly string[]
  /** Path prefixes, relative to the channel's URL. */
  paths: readonly string[]
}

/**
 * The bypass cookies, with Shopware's variant cookies if they are not part of the key: the shop answers their visitors differently, and
 * says so in no field of the response.
 */
export function bypassCookiesFor({ names }: VariantRules, { cookies }: Pick<BypassRules, 'cookies'>): string[] {
  return [...cookies, ...Object.values(shopwareVariants).filter((name) => !names.has(name))]
}

/** Shopware sets the variant cookie to this value for visitors whose responses must not be cached. */
const uncacheableHash = 'not-cacheable'

/** Matches paths (relative to their channel) that always go to the shop. */
export function pathBypass(paths: readonly string[]): (path: string) => boolean {
  const prefixes = paths.map((path) => trimEndingSlashes(path).toLowerCase())
  return (path) => {
    const lenient = lenientPath(path)
    return prefixes.some((prefix) => lenient === prefix || lenient.startsWith(`${prefix}/`))
  }
}

/** Matches paths (relative to their channel) below any of the prefixes, in every reading of a server. */
export function pathsBelow(prefixes: readonly string[]): (path: string) => boolean {
  const folders = prefixes.map((prefix) => `${trimEndingSlashes(prefix)}/`)
  return (path) =>
    folders.some((folder) => path.startsWith(folder)) &&
    folders.some((folder) => lenientPath(path).startsWith(folder.toLowerCase()))
}

/** Matches exactly these paths, relative to their channel. */
export function onlyPaths(paths: readonly string[]): (path: string) => boolean {
  const known = new Set(paths)
  return (path) => known.has(path)
}

/**
 * Whether a visitor has neither a session of Shopware that the shop tells apart from others, nor a filled cart: for them, the pages in
 * `cache.emptyPaths` have nothing to say.
 */
export function isEmptyFor(
  cookies: ReadonlyMap<string, string>,
  { bypassCookies, variants }: { bypassCookies: readonly string[]; variants: Pick<VariantRules, 'names'> },
): boolean {
  const bypass = { cookies: bypassCookies }
  return (
    (cookies.get('sw-cache-hash') ?? '') === '' &&
    !(cookies.get('sw-states') ?? '').toLowerCase().includes('cart-filled') &&
    cookieBypass(cookies, bypass) === null &&
    disguisedCookie(cookies, variants, bypass) === null
  )
}

/** Matches paths (relative to their channel) at or below any of the prefixes, in every reading of a server. */
export function pathsAtOrBelow(paths: readonly string[]): (path: string) => boolean {
  const isBelow = pathBypass(paths)
  const prefixes = paths.map(trimEndingSlashes)
  return (path) => prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) && isBelow(path)
}

/** Characters that PHP replaces by underscores in the names of cookies. A bracket may also begin an index, which is no part of the name. */
const replaced = /[ .[]/g

/** A pattern for a cookie's name in all spellings that PHP takes for it. */
export function inAnySpelling(name: string): string {
  return name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll('_', '[_ .[]')
}

/** The name of a cookie that PHP takes for a bypass or variant cookie, which is spelt otherwise; null when there is none. */
export function disguisedCookie(
  cookies: ReadonlyMap<string, string>,
  { names }: Pick<VariantRules, 'names'>,
  rules: Pick<BypassRules, 'cookies'>,
): string | null {
  for (const name of cookies.keys()) {
    for (const part of [name, name.split('[', 1)[0]!]) {
      const read = part.replace(replaced, '_')
      if (read !== name && (names.has(read) || cookieBypass(new Map([[read, '']]), rules) !== null)) return name
    }
  }
  return null
}

/** The name of the cookie that makes this visitor bypass the cache; null when there is none. */
export function cookieBypass(cookies: ReadonlyMap<string, string>, rules: Pick<BypassRules, 'cookies'>): string | null {
  if (cookies.get('sw-cache-hash') === uncacheableHash) return 'sw-cache-hash'
  for (const pattern of rules.cookies) {
    if (!pattern.endsWith('*')) {
      if (cookies.has(pattern)) return pattern
      continue
    }
    const prefix = pattern.slice(0, -1)
    for (const name of cookies.keys()) if (name.startsWith(prefix)) return name
  }
  return null
}

/**
 * Shopware's client states of a visitor (`sw-states`). A page that excludes one of them is not served to this visitor.
 */
export function clientStates(cookies: ReadonlyMap<string, string>): string[] {
  return (cookies.get('sw-states') ?? '')
    .toLowerCase()
    .split(/[,\s]|%2c/)
    .filter((state) => state !== '')
}

/** The client states in which this page must not be served (`sw-invalidation-states`). */
export function excludedStates(headers: readonly HeaderPair[]): string[] {
  return listElements(fieldValue(headers, 'sw-invalidation-states'))
}
