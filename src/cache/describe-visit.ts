import { formatDuration } from '../lib/format.ts'
import type { PageDraft } from '../pages/page.ts'
import type { TypeRule } from '../pages/type.ts'
import { ageAt, usability } from './freshness.ts'
import { classify } from './lookup.ts'
import type { StorefrontCache } from './storefront-cache.ts'
import type { Visit } from './visit.ts'

/** What the cache knows about a request, for an operator. Texts, each absent where there is nothing to say. */
export interface VisitDescription {
  /** Canonical URL; null where no sales channel has the request's site. */
  url: string | null
  key?: string
  /** What selects this version of the page. */
  variants?: string
  tags?: readonly string[]
  type?: string
  /** The rule that decided: why the request bypasses the cache or cannot be stored, else how the page got its type. */
  rule?: string
  lifetime?: string
}

/** Finds the rule that gave a page its type (`ruleFinder`). */
type FindRule = (page: { headers: PageDraft['headers']; tags: readonly string[]; target: string }) => TypeRule | null

/** Describes a request after it was answered. `tags`: those of the response. `now`: milliseconds since the epoch. */
export function describeVisit(
  visit: Visit,
  tags: readonly string[] | undefined,
  cache: StorefrontCache,
  findRule: FindRule,
  now: number,
): VisitDescription {
  const classified = classify(visit, cache.classifying)
  const sent = tags === undefined ? {} : { tags }
  if (classified.kind === 'unknown-site') return { url: null, rule: 'no sales channel has this site' }
  if (classified.kind === 'own') return { url: classified.url, rule: 'an endpoint of the daemon' }
  if (classified.kind === 'empty') return { url: classified.url, rule: 'a path that is answered without content' }
  if (classified.kind === 'pass') return { ...sent, url: classified.url, rule: `bypass: ${classified.reason}` }
  const { lookup } = classified
  const { url, key } = lookup
  const page = cache.find(lookup)?.page
  const known = { ...sent, url, key: page?.key ?? key }
  if (page === undefined) {
    const reason = cache.notStored(lookup)
    return { ...known, variants: variantsOf(key, {}), ...(reason !== null && { rule: `not stored: ${reason}` }) }
  }
  const { path, query } = lookup.target
  const rule = findRule({ headers: page.headers, tags: page.tags, target: path + query })
  return {
    ...known,
    // A stale page with fragments is not kept: the answer alone has the tags of all its parts.
    tags: tags ?? page.tags,
    variants: variantsOf(page.key, page.vary),
    type: page.type,
    rule: rule === null ? 'default type' : describeRule(rule),
    lifetime: lifetimeOf(page, now),
  }
}

function variantsOf(key: string, vary: PageDraft['vary']): string {
  const fields = Object.entries(vary).map(([name, value]) => `vary ${name}=${value ?? ''}`)
  return [...key.split('\n').slice(1), ...fields].join('; ') || 'none'
}

function describeRule({ type, tag, path, header }: TypeRule): string {
  if (tag !== undefined) return `${type} by tag ${tag}`
  return path === undefined ? `${type} by header ${header}` : `${type} by path ${path}`
}

function lifetimeOf(page: PageDraft, now: number): string {
  const parts = [
    `${usability(page, now)}, ${formatDuration(page.lifetime)} in total, age ${formatDuration(ageAt(page, now))}`,
    page.staleWhileRevalidate > 0 ? `stale-while-revalidate ${formatDuration(page.staleWhileRevalidate)}` : '',
    page.staleIfError > 0 ? `stale-if-error ${formatDuration(page.staleIfError)}` : '',
    page.noCache ? 'no-cache' : '',
  ]
  return parts.filter((part) => part !== '').join('; ')
}
