import * as z from 'zod/mini'
import type { App } from '../app.ts'
import type { Inspection } from '../cache/inspect.ts'
import type { StorefrontCache } from '../cache/storefront-cache.ts'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/format.ts'
import { maskUrls, namesSecret } from '../lib/safe-text.ts'
import type { HeaderPair } from '../pages/page.ts'
import { toPageView } from '../pages/page-view.ts'
import { purgeModes } from '../purge/log/purge-items.ts'
import { readPages } from './read-pages.ts'
import { pageView } from './cache.ts'
import { described, flag, optionalId, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'
import { ownNode, toOwnNode } from './own-node.ts'
import { toPageAddress } from './page-address.ts'

const headerList = described(
  z.optional(z.array(z.object({ name: z.string(), value: z.string() }))),
  'with headers: true',
)

const lastPurge = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  kind: z.enum(['url', 'tag', 'entity', 'type', 'all']),
  key: described(z.nullable(z.string()), 'the URL, tag or type that was purged'),
  source: described(z.string(), 'api, cli, purge-method or task'),
  client: described(z.nullable(z.string()), 'name of the API client, or its ID'),
  mode: described(z.enum(purgeModes), 'soft, softened: the pages were marked as stale'),
  pagesRemoved: described(z.int(), 'pages removed, or marked as stale'),
})

const lastEviction = z.object({
  at: z.iso.datetime(),
  cause: described(
    z.enum(['size', 'disk', 'variants', 'expired']),
    'size: cache.maxSize; disk: the disk was full; variants: cache.maxVariants; expired: of no use even stale',
  ),
})

export const inspectPage = defineOperation({
  name: 'cache.inspect',
  summary: 'Explains why a URL is or is not cached',
  input: z.object({
    url: described(text('expected a URL'), 'absolute, or a path of a sales channel'),
    salesChannelId: described(
      optionalId('expected the id of a sales channel'),
      'for a path that several channels have',
    ),
    headers: described(flag, 'include response headers'),
  }),
  output: z.object({
    success,
    url: described(z.string(), 'in its canonical form'),
    cached: z.boolean(),
    reason: z.string(),
    remedy: described(z.nullable(z.string()), 'what to do; null if nothing needs doing'),
    pages: z.array(
      z.extend(pageView, {
        variant: described(z.string(), 'cookies and headers for which it was stored; empty: every visitor'),
        headers: headerList,
      }),
    ),
    headers: described(headerList, "with headers: true, if nothing is cached: the shop's response"),
    lastPurge: described(
      z.nullable(lastPurge),
      'the last purge that removed it or marked it as stale, or one of its fragments',
    ),
    lastEviction: described(z.nullable(lastEviction), 'when the cache itself last removed it'),
    shared: described(
      z.optional(
        z.object({
          state: described(
            z.enum(['page', 'missing', 'expired', 'purged', 'invalid', 'unavailable']),
            'purged: a purge since its fetch selects it; invalid: altered; unavailable: Redis fails',
          ),
          fetchedAt: described(z.nullable(z.iso.datetime()), 'by any machine'),
        }),
      ),
      'whether the machines share the page, with cache.shared.url',
    ),
    node: ownNode,
    explanation: described(z.array(z.string()), 'sentences that explain the reason'),
  }),
  http: { method: 'GET', path: '/pages/inspect' },
  async run({ app, signal }, { url: given, salesChannelId, headers: withHeaders }) {
    const url = toPageAddress(given, app.config.salesChannels, { channelId: salesChannelId })
    const { inspectUrl, variantOf } = await import('../cache/inspect.ts')
    const { cache } = await app.storefrontCache()
    const inspection = await readPages(app, (pages) => inspectUrl(cache, pages, url, app.now(), signal))
    const history = await readHistory(app, inspection)
    const shared = await readShared(app, cache, url, signal)
    const explanation = [...inspection.explanation, ...history.explanation, ...(shared?.explanation ?? [])]
    const { cached, reason, remedy } = inspection
    return {
      ...succeeded,
      url: inspection.url,
      cached,
      reason,
      remedy,
      pages: inspection.pages.map((page) => ({
        ...toPageView(page, app.now()),
        variant: variantOf(page),
        ...(withHeaders && { headers: toHeaders(page.headers) }),
      })),
      ...(withHeaders && inspection.headers !== null && { headers: toHeaders(inspection.headers) }),
      lastPurge: history.purge,
      lastEviction: history.eviction,
      ...(shared !== null && { shared: { state: shared.state, fetchedAt: shared.fetchedAt } }),
      ...toOwnNode(app),
      explanation,
    }
  },
})

const sharedStates = {
  page: 'The shared pages have it',
  missing: 'The shared pages do not have it.',
  expired: 'The shared pages have it, but it has expired.',
  purged: 'The shared pages have it, but a purge since its fetch selects it, so no machine uses it.',
  invalid: 'The shared pages have an altered value, which no machine uses.',
  unavailable: 'The shared pages cannot be read',
} as const

/** What the machines share of a page; null where they share nothing. */
async function readShared(app: App, cache: StorefrontCache, url: string, signal: AbortSignal) {
  const pages = await app.sharedPages()
  const { toWanted } = await import('../cache/wanted.ts')
  const wanted = toWanted(url, signal, cache.classifying)
  if (pages === null || wanted === null) return null
  await pages.ready()
  // A command has no lease.
  const look = await pages.look(wanted, app.usesThreads)
  const fetchedAt = look.kind === 'page' ? new Date(look.page.draft.cachedAt).toISOString() : null
  const sentence =
    look.kind === 'page'
      ? `${sharedStates.page}, fetched at ${fetchedAt}.`
      : look.kind === 'unavailable'
        ? `${sharedStates.unavailable}: ${look.why}.`
        : sharedStates[look.kind]
  return { state: look.kind, fetchedAt, explanation: [sentence] }
}

/** Masks the values of cookies and other secrets: answers end up in logs and tickets. */
function toHeaders(headers: readonly HeaderPair[]) {
  return headers.map(([name, value]) => ({ name, value: withoutSecrets(name, value) }))
}

/** Fields whose names sound like those of secrets. */
const harmless = /^(?:(?:www|proxy)-authenticate|access-control-.*)$/i

function withoutSecrets(name: string, value: string): string {
  // A cookie without a name is a value alone.
  if (/^set-cookie2?$/i.test(name)) return value.replace(/^[^;]*/, (pair) => `${/^[^=]*=/.exec(pair)?.[0] ?? ''}***`)
  return namesSecret(name) && !harmless.test(name) ? '***' : maskUrls(value)
}

interface History {
  purge: z.output<typeof lastPurge> | null
  eviction: z.output<typeof lastEviction> | null
  explanation: string[]
}

/** What removed the page: the last purge and the last eviction, the later one first among the sentences. */
async function readHistory(app: App, { url, headers }: Inspection): Promise<History> {
  const found = (await app.pages()).evictionOf(url)
  const eviction = found && { at: new Date(found.at).toISOString(), cause: found.cause }
  try {
    const purge = await readPurge(app, url)
    const sentences = [
      ...(purge === null ? [] : [{ at: purge.at, text: purgeText(purge) }]),
      ...(eviction === null ? [] : [{ at: eviction.at, text: evictionText(eviction) }]),
    ].toSorted((one, other) => (one.at < other.at ? 1 : -1))
    const explanation = sentences.map(({ text }) => text)
    if (explanation.length === 0 && headers !== null) explanation.push('The log has no purge or eviction of it.')
    return { purge, eviction, explanation }
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
    const explanation = [
      ...(eviction === null ? [] : [evictionText(eviction)]),
      `The purge log cannot be read: ${error.message}`,
    ]
    return { purge: null, eviction, explanation }
  }
}

async function readPurge(app: App, url: string): Promise<History['purge']> {
  const [{ nameOfClient }, { readLastPurge }, { fragmentUrls }] = await Promise.all([
    import('../auth/clients.ts'),
    import('../purge/log/last-purge.ts'),
    import('../cache/esi/fragment-urls.ts'),
  ])
  await (await app.purges()).catchUp()
  const records = await app.records()
  const last = await readLastPurge(records.db, url, fragmentUrls(await app.pages(), url))
  if (last === null) return null
  const { id, createdAt, kind, source, mode, pagesRemoved, url: purgedUrl, tag, type, value } = last.purge
  return {
    id,
    at: createdAt,
    kind,
    key: purgedUrl ?? tag ?? type ?? value,
    source,
    client: last.actor && ((await nameOfClient(records, last.actor)) ?? last.actor),
    mode,
    pagesRemoved,
  }
}

const sources: Readonly<Record<string, string>> = {
  api: 'the API',
  cli: 'the command line',
  'purge-method': 'a PURGE or BAN request',
  task: 'a scheduled task',
}

function purgeText({ at, kind, key, source, client, mode, pagesRemoved }: NonNullable<History['purge']>): string {
  const what = kind === 'all' ? 'everything' : `${kind} ${key ?? ''}`
  const who = `${sources[source] ?? source}${client === null ? '' : ` (client ${client})`}`
  return `Last purged at ${at}: ${what}, through ${who}; ${plural(pagesRemoved, 'page')} ${mode === 'hard' ? 'removed' : 'marked as stale'}.`
}

const causes = {
  size: 'to keep the pages within cache.maxSize',
  disk: 'because the disk was full',
  variants: 'because its URL had more than cache.maxVariants variants',
  expired: 'because it was of no more use, even stale',
} as const

function evictionText({ at, cause }: NonNullable<History['eviction']>): string {
  return `Last evicted at ${at}, ${causes[cause]}.`
}
