import { plural } from '../lib/plural.ts'
import { formatDuration } from '../lib/format-duration.ts'
import type { Page } from '../pages/page.ts'
import { unconfirmedMark } from '../pages/page-row.ts'
import type { PageStore } from '../pages/page-store.ts'
import { askFor } from './ask.ts'
import { usability } from './freshness.ts'
import { OriginError } from './origin.ts'
import type { Proxy } from './proxy.ts'

/** Why a URL is or is not served from the cache. `reason` in one sentence, `explanation` with what led to it. */
export interface Inspection {
  url: string
  cached: boolean
  reason: string
  explanation: string[]
  pages: Page[]
}

/**
 * Explains one URL: the channel and the canonical form, what the cache holds, and where it holds nothing, what the shop says about
 * storing (for which it is asked once). `now`: milliseconds since the epoch.
 */
export async function inspectUrl(
  proxy: Proxy,
  store: PageStore,
  url: string,
  now: number,
  signal: AbortSignal,
): Promise<Inspection> {
  const asked = askFor(url, {}, signal, proxy.classifying)
  if (asked === null) {
    const foreign = store.findByUrl(url)
    if (foreign.length > 0) {
      const explanation = [
        'Its sales channel is not in this configuration: a daemon with another one, or with --origin, has stored it.',
        ...foreign.map((page) => describe(page, now)),
      ]
      return { url, cached: true, reason: whatNext(foreign, now), explanation, pages: foreign }
    }
    const known = proxy.classifying.channels.all.map((channel) => channel.url).join(', ') || 'none'
    return {
      url,
      cached: false,
      reason: 'The URL belongs to no sales channel: visitors get a 421.',
      explanation: [`Sales channels: ${known}.`],
      pages: [],
    }
  }
  if (asked.kind === 'own') {
    return {
      url: asked.url,
      cached: false,
      reason: 'It is an endpoint of the daemon itself: it is never asked of the shop, stored or served from the cache.',
      explanation: [],
      pages: [],
    }
  }
  const { channel, url: canonical } = asked.kind === 'pass' ? asked : asked.question
  const explanation = [`Sales channel ${channel.name} (${channel.url}), asked at ${channel.origin}.`]
  if (canonical !== url)
    explanation.push(
      `Its key has the canonical form ${canonical}: sorted parameters, without those that marketing adds.`,
    )
  if (asked.kind === 'pass')
    return {
      url: canonical,
      cached: false,
      reason: `It always goes to the shop: ${asked.reason}.`,
      explanation,
      pages: [],
    }
  const pages = store.findByUrl(canonical)
  if (pages.length === 0)
    return { url: canonical, cached: false, reason: await whyMissing(proxy, asked.question), explanation, pages }
  explanation.push(
    `${pages.length === 1 ? 'One variant is' : `${pages.length} variants are`} stored.`,
    ...pages.map((page) => describe(page, now)),
  )
  return { url: canonical, cached: true, reason: whatNext(pages, now), explanation, pages }
}

/** What the best of the variants means to the next visitor who wants it. */
function whatNext(pages: readonly Page[], now: number): string {
  const uses = new Set(pages.map((page) => usability(page, now)))
  if (uses.has('fresh')) return 'It is cached and fresh: visitors get it without asking the shop.'
  if (uses.has('stale-while-revalidate'))
    return 'It is cached but stale: the next visitor gets it at once, and the cache fetches it anew meanwhile.'
  return 'It is cached but stale: the next visitor makes the cache ask the shop whether it still holds.'
}

function describe(page: Page, now: number): string {
  const left = (page.staleAt - now) / 1000
  const span = left > 0 ? `fresh for another ${formatDuration(left)}` : `stale for ${formatDuration(-left)}`
  const vary = Object.entries(page.vary).map(([name, value]) => `${name}: ${value ?? '(none)'}`)
  const [shared = '', visitor] = page.key.split(unconfirmedMark)
  const variant = [...shared.split('\n').slice(1), ...vary].join('; ')
  const grants = [
    visitor === undefined ? '' : 'for one visitor, whose variant the shop has not confirmed',
    page.range === null ? '' : `only bytes ${page.range.start} to ${page.range.end} of ${page.range.total}`,
    page.states.length > 0 ? `not for visitors in the state ${page.states.join(' or ')}` : '',
    page.noCache ? 'no-cache: asked about at each use' : '',
    page.staleWhileRevalidate > 0
      ? `then ${formatDuration(page.staleWhileRevalidate)} stale while it is fetched anew`
      : '',
    page.staleIfError > 0 ? `${formatDuration(page.staleIfError)} stale when the shop fails` : '',
  ].filter((grant) => grant !== '')
  return `${variant === '' ? 'For every visitor' : `For ${variant}`}: status ${page.status}, ${[span, ...grants].join(', ')}, ${plural(page.hits, 'hit')}.`
}

async function whyMissing(proxy: Proxy, question: Parameters<Proxy['probe']>[0]): Promise<string> {
  const known = proxy.obstacle(question)
  if (known !== null) return `It is not cached: its last answer could not be stored (${known}).`
  try {
    const { status, obstacle } = await proxy.probe(question)
    if (obstacle !== null) return `It is not cached and cannot be: the shop answers ${status} (${obstacle}).`
    return `It is not cached now, but could be: the shop answers ${status} and allows it to be stored. It was not visited yet, or purged, or had to make room.`
  } catch (error) {
    if (error instanceof OriginError) return `It is not cached, and the shop does not answer: ${error.message}.`
    throw error
  }
}
