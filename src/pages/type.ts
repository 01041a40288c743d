import { globMatcher } from '../lib/glob.ts'
import type { HeaderPair, PageType } from './page.ts'

/**
 * A configured rule. `tag` is a prefix, `path` a pattern of path and query, `header` is `name: pattern`. Patterns are
 * those of `globMatcher` with sets.
 */
export interface TypeRule {
  type: PageType
  header?: string
  tag?: string
  path?: string
}

/** Shopware's tags and paths. Category pages carry the tag of their listing too, so categories come first. */
export const defaultTypeRules: readonly TypeRule[] = [
  { type: 'buybox', path: '*/buybox/*' },
  { type: 'listings', path: '*[?&]p=*' },
  { type: 'listings', path: '*[?&]order=*' },
  { type: 'listings', path: '*/search?*' },
  { type: 'listings', path: '*/widgets/cms/*' },
  { type: 'categories', tag: 'category-route-' },
  { type: 'listings', tag: 'product-listing-' },
  { type: 'products', tag: 'product-' },
  { type: 'cms', tag: 'cms-page-' },
  { type: 'cms', tag: 'landing-page-route-' },
  { type: 'products', path: '*/detail/*' },
  { type: 'categories', path: '*/navigation/*' },
]

type Matcher = (page: { headers: readonly HeaderPair[]; tags: readonly string[]; target: string }) => boolean

/** Compiles rules into a function from a response to the first rule that matches; null where none does. */
export function ruleFinder(rules: readonly TypeRule[]): (page: Parameters<Matcher>[0]) => TypeRule | null {
  const compiled = rules.map((rule) => ({ rule, matches: matcher(rule) }))
  return (page) => {
    for (const { rule, matches } of compiled) if (matches(page)) return rule
    return null
  }
}

/** Compiles rules into a function from a response to its type. The first match wins; the default is `cms`. */
export function typeResolver(rules: readonly TypeRule[]): (page: Parameters<Matcher>[0]) => PageType {
  const find = ruleFinder(rules)
  return (page) => find(page)?.type ?? 'cms'
}

/**
 * Compiles the path rules into a function from a target to the type of a page that was not fetched; null when none
 * matches.
 */
export function pathTypeResolver(rules: readonly TypeRule[]): (target: string) => PageType | null {
  const compiled = rules
    .filter((rule) => rule.path !== undefined)
    .map((rule) => ({ type: rule.type, matches: matcher(rule) }))
  return (target) => compiled.find((rule) => rule.matches({ headers: [], tags: [], target }))?.type ?? null
}

function matcher(rule: TypeRule): Matcher {
  if (rule.tag !== undefined) {
    const prefix = rule.tag
    return ({ tags }) => {
      for (const tag of tags) if (tag.startsWith(prefix)) return true
      return false
    }
  }
  if (rule.header !== undefined) {
    const colon = rule.header.indexOf(':')
    const name = (colon < 0 ? rule.header : rule.header.slice(0, colon)).trim().toLowerCase()
    const matches = globMatcher(colon < 0 ? '*' : rule.header.slice(colon + 1).trim(), { sets: true })
    return (page) => page.headers.some(([key, value]) => key.toLowerCase() === name && matches(value))
  }
  const matches = globMatcher(rule.path ?? '', { sets: true })
  return (page) => matches(page.target)
}
