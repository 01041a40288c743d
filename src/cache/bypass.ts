import { trimEndingSlashes } from '../lib/url.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldValue, listElements } from './fields.ts'
import { lenientPath } from './target.ts'

export interface BypassRules {
  /** Cookie names; a final `*` matches any ending. */
  cookies: readonly string[]
  /** Path prefixes, relative to the channel's URL. */
  paths: readonly string[]
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
