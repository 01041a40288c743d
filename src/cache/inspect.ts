import { formatDuration, plural } from '../lib/format.ts'
import type { HeaderPair, Page } from '../pages/page.ts'
import { unconfirmedMark } from '../pages/page-row.ts'
import type { PageStore } from '../pages/page-store.ts'
import { classifyUrl } from './classify-url.ts'
import { fragmentUrls } from './esi/fragment-urls.ts'
import { usability } from './freshness.ts'
import type { VariantRules } from './key.ts'
import { lifetimeAdvice } from './lifetime-advice.ts'
import type { Lookup } from './lookup.ts'
import { OriginError } from './origin.ts'
import { storageRemedy } from './storage-remedy.ts'
import type { StorefrontCache } from './storefront-cache.ts'

/** Why a URL is or is not served from the cache: a `reason` of one sentence and an `explanation` of the details. */
export interface Inspection {
  url: string
  cached: boolean
  reason: string
  explanation: string[]
  /** What an operator can do about it; null if nothing needs doing. */
  remedy: string | null
  /** Of the shop's response, where the shop had to be asked. */
  headers: readonly HeaderPair[] | null
  pages: Page[]
}

/**
 * Explains how the cache treats one URL: its channel, its canonical form and its cached pages. When nothing is cached,
 * asks the shop once whether its response could be stored. `now`: milliseconds since the epoch.
 */
export async function inspectUrl(
  cache: StorefrontCache,
  store: PageStore,
  url: string,
  now: number,
  signal: AbortSignal,
): Promise<Inspection> {
  const classified = classifyUrl(url, {}, signal, cache.classifying)
  if (classified === null) return inspectWithoutChannel(cache, store, url, now)
  if (classified.kind === 'own') {
    return {
      url: classified.url,
      cached: false,
      reason:
        'It is an endpoint of the daemon itself: it is never fetched from the shop, stored or served from the cache.',
      explanation: [],
      remedy: null,
      headers: null,
      pages: [],
    }
  }
  const { channel, url: canonical } = classified.kind === 'lookup' ? classified.lookup : classified
  const explanation = [`Sales channel ${channel.name} (${channel.url}), origin ${channel.origin}.`]
  if (canonical !== url)
    explanation.push(`Its canonical form is ${canonical}: parameters sorted, marketing parameters removed.`)
  if (classified.kind !== 'lookup')
    return { url: canonical, cached: false, ...whyNever(classified), explanation, headers: null, pages: [] }
  explanation.push(whatSelects(classified.lookup, cache.classifying.variants))
  if (classified.lookup.search !== null)
    explanation.push('The shop ignores some or all parameters of this path (No-Vary-Search).')
  const pages = store.findByUrl(canonical)
  if (pages.length === 0)
    return { url: canonical, cached: false, ...(await whyMissing(cache, classified.lookup, explanation)), pages }
  explanation.push(
    `${pages.length === 1 ? 'One variant is' : `${pages.length} variants are`} stored.`,
    ...pages.map((page) => describe(page, now)),
    ...describeFragments(store, canonical, now),
  )
  const reason = whatNext(store, pages, now)
  return { url: canonical, cached: true, reason, explanation, remedy: null, headers: null, pages }
}

function whyNever(classified: { kind: 'pass'; reason: string } | { kind: 'empty' }) {
  return classified.kind === 'pass'
    ? {
        reason: `It always goes to the shop: ${classified.reason}.`,
        remedy: 'If it may be cached, take its path out of cache.bypass.paths.',
      }
    : {
        reason:
          'Visitors without sw-cache-hash and without a filled cart get an empty response (204) from the cache; all others go to the shop (cache.emptyPaths).',
        remedy: null,
      }
}

/** Which cookies and headers choose among the variants of the page. */
function whatSelects({ isAsset }: Lookup, { cookies, headers }: VariantRules): string {
  if (isAsset)
    return 'It is an asset: visitors with any cookies share one page, and the shop gets none of them (cache.assets).'
  const names = [
    ...cookies.map((group) => `cookie ${group.join(' or else ')}`),
    ...headers.map((name) => `header ${name}`),
  ]
  return names.length === 0 ? 'No cookie or header selects a variant of it.' : `Variants by ${names.join(', ')}.`
}

/** Explains a URL that no configured channel has; another configuration may have stored pages of it. */
function inspectWithoutChannel(cache: StorefrontCache, store: PageStore, url: string, now: number): Inspection {
  const pages = store.findByUrl(url)
  if (pages.length > 0) {
    const explanation = [
      'Its sales channel is not in this configuration: a daemon with another configuration, or with --origin, stored it.',
      ...pages.map((page) => describe(page, now)),
    ]
    const remedy = 'Give this command the configuration of that daemon, with --project-dir and --env.'
    return { url, cached: true, reason: whatNext(store, pages, now), explanation, remedy, headers: null, pages }
  }
  const known = cache.classifying.channels.all.map((channel) => channel.url).join(', ') || 'none'
  const reason = 'No sales channel has this URL: visitors get a 421.'
  const remedy = 'Check salesChannels[].url: it is the URL that visitors type, with scheme, host and port.'
  return { url, cached: false, reason, explanation: [`Sales channels: ${known}.`], remedy, headers: null, pages }
}

/** What the next visitor gets from the best of the variants. */
function whatNext(store: PageStore, pages: readonly Page[], now: number): string {
  const uses = new Set(pages.map((page) => usability(page, now)))
  const fragments = new Set(pages.flatMap(({ url }) => fragmentUrls(store, url)))
  const count = [...fragments].filter((url) => !isFresh(store, url, now)).length
  if (uses.has('fresh') && count > 0)
    return `It is cached and fresh, but ${count === 1 ? 'one of its fragments is' : `${count} of its fragments are`} not: only they are requested from the shop for the next visitor.`
  if (uses.has('fresh')) return 'It is cached and fresh: visitors get it without a request to the shop.'
  if (uses.has('stale-while-revalidate'))
    return 'It is cached but stale: the next visitor gets it at once while the cache refetches it.'
  return 'It is cached but stale: the cache revalidates it for the next visitor.'
}

function isFresh(store: PageStore, url: string, now: number): boolean {
  return store.findByUrl(url).some((page) => usability(page, now) === 'fresh')
}

/** The state of each fragment that the stored pages of a URL include. */
function describeFragments(store: PageStore, url: string, now: number): string[] {
  return fragmentUrls(store, url).map((fragment) => {
    const [page] = store.findByUrl(fragment)
    if (page === undefined) return `Includes ${fragment}, which is not cached.`
    const left = (page.staleAt - now) / 1000
    return `Includes ${fragment}, ${left > 0 ? `fresh for another ${formatDuration(left)}` : `stale for ${formatDuration(-left)}`}.`
  })
}

function describe(page: Page, now: number): string {
  const left = (page.staleAt - now) / 1000
  const span = left > 0 ? `fresh for another ${formatDuration(left)}` : `stale for ${formatDuration(-left)}`
  const [, visitor] = page.key.split(unconfirmedMark)
  const variant = variantOf(page)
  const grants = [
    visitor === undefined ? '' : 'for one visitor whose variant the shop has not confirmed',
    page.range === null ? '' : `only bytes ${page.range.start} to ${page.range.end} of ${page.range.total}`,
    page.states.length > 0 ? `not for visitors in client state ${page.states.join(' or ')}` : '',
    page.noCache ? 'no-cache: revalidated at each use' : '',
    page.staleWhileRevalidate > 0
      ? `then ${formatDuration(page.staleWhileRevalidate)} stale while it is refetched`
      : '',
    page.staleIfError > 0 ? `${formatDuration(page.staleIfError)} stale when the shop fails` : '',
  ].filter((grant) => grant !== '')
  return `${variant === '' ? 'For every visitor' : `For ${variant}`}: status ${page.status}, ${[span, ...grants].join(', ')}, ${plural(page.hits, 'hit')}.`
}

type Missing = Pick<Inspection, 'reason' | 'explanation' | 'remedy' | 'headers'>

async function whyMissing(cache: StorefrontCache, lookup: Lookup, explanation: string[]): Promise<Missing> {
  const known = cache.notStored(lookup)
  if (known !== null) {
    const reason = `It is not cached: its last response could not be stored (${known}).`
    return { reason, explanation, remedy: storageRemedy(known), headers: null }
  }
  try {
    const { status, notStored, lacksLifetime, headers } = await cache.probe(lookup)
    if (lacksLifetime) explanation.push(lifetimeAdvice.message)
    const reason =
      notStored === null
        ? `It is not cached now, but could be: the shop answers ${status} and allows it to be stored.`
        : `It is not cached and cannot be: the shop answers ${status} (${notStored}).`
    const remedy = notStored === null ? `Fetch it with: pagecache warmup:start ${lookup.url}` : storageRemedy(notStored)
    return { reason, explanation, remedy: lacksLifetime ? lifetimeAdvice.remedy : remedy, headers }
  } catch (error) {
    if (!(error instanceof OriginError)) throw error
    const reason = `It is not cached, and the shop is unreachable: ${error.message}.`
    const remedy = 'Is the shop running? Check salesChannels[].origin; pagecache doctor tests it.'
    return { reason, explanation, remedy, headers: null }
  }
}

/** The cookies and headers for which a page was stored; empty for a page that every visitor gets. */
export function variantOf({ key, vary }: Pick<Page, 'key' | 'vary'>): string {
  const varied = Object.entries(vary).map(([name, value]) => `${name}: ${value ?? '(none)'}`)
  const [shared = ''] = key.split(unconfirmedMark)
  return [...shared.split('\n').slice(1), ...varied].join('; ')
}
