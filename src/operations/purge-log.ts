import * as z from 'zod/mini'
import { purgeModes } from '../purge/log/purge-items.ts'
import { findEntity } from './entity.ts'
import { count, described, limit, offset, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'
import { found, searchInput, searchOutput, toSearch } from './log-search.ts'
import { toPageAddress } from './page-address.ts'
import { entityType } from './purge.ts'

const milliseconds = described(z.number(), 'milliseconds')

const unconfirmed = described(
  z.array(z.string()),
  'nodes that had no lease and may have served the pages afterwards, for cluster.alone at most',
)

/** A purge of one key, as listed in the purge log. */
const purgeItem = z.object({
  id: z.string(),
  createdAt: z.iso.datetime(),
  kind: z.enum(['url', 'tag', 'entity', 'type', 'all']),
  type: described(z.nullable(z.string()), 'page type, for a purge by type'),
  value: described(z.nullable(z.string()), 'application-cache if it was cleared with all pages'),
  url: z.nullable(z.string()),
  tag: z.nullable(z.string()),
  entityType: z.nullable(z.string()),
  entityId: z.nullable(z.string()),
  entityNumber: z.nullable(z.string()),
  invalidationId: z.string(),
  source: z.string(),
  actor: described(
    z.nullable(z.string()),
    'the client or address that caused it; null for the command line, and once the invalidation is no longer in its log',
  ),
  mode: described(z.enum(purgeModes), 'softened: soft because of purge.softAbove'),
  pagesRemoved: count,
  responseTime: z.nullable(milliseconds),
  proxies: z.array(
    z.object({
      name: z.string(),
      status: z.enum(['delivered', 'pending', 'failed']),
      attempts: count,
      responseTime: z.nullable(milliseconds),
      error: z.nullable(z.string()),
    }),
  ),
  unconfirmed,
})

export type PurgeItemValue = z.output<typeof purgeItem>

export const purgeStatistics = defineOperation({
  name: 'purgeLog.stats',
  summary: 'Shows the purges of the last 24 hours: totals, hours, top tags, and the state of each reverse proxy',
  input: z.object({}),
  output: z.object({
    overview: z.object({ totalPurges: count, distinctUrls: count, distinctTags: count, avgResponseTime: milliseconds }),
    hourly: z.array(
      z.object({
        hour: z.iso.datetime(),
        purges: count,
        partial: described(z.boolean(), 'the hour has not ended yet'),
      }),
    ),
    topTags: z.array(z.object({ tag: z.string(), count })),
    proxies: described(
      z.array(
        z.object({
          name: z.string(),
          state: described(z.enum(['ok', 'behind', 'down']), 'behind: purges are overdue or failed; down: unreachable'),
          pending: count,
          oldestPending: z.nullable(z.iso.datetime()),
          failed: count,
          circuit: described(
            z.enum(['closed', 'open', 'half-open']),
            'open: no requests for a while; half-open: one trial request',
          ),
          failures: described(count, 'consecutive failed attempts'),
          failingSince: z.nullable(z.iso.datetime()),
          lastError: z.nullable(z.string()),
          lastErrorAt: z.nullable(z.iso.datetime()),
          lastDeliveredAt: z.nullable(z.iso.datetime()),
        }),
      ),
      'pending and failed purges of each reverse proxy, and whether it is reachable',
    ),
  }),
  http: { method: 'GET', path: '/reverse-proxy-stats' },
  async run({ app }) {
    const { readPurgeStatistics } = await import('../purge/log/statistics.ts')
    const { readProxyStates } = await import('../purge/deliver/proxy-state.ts')
    const { db } = await app.records()
    const configured = app.config.reverseProxies.map((proxy) => proxy.name)
    return {
      ...(await readPurgeStatistics(db, Date.now())),
      proxies: await readProxyStates(db, configured, Date.now()),
    }
  },
})

export type PurgeStatistics = z.output<typeof purgeStatistics.output>

export const recentPurges = defineOperation({
  name: 'purgeLog.recent',
  summary: 'Lists purges, newest first',
  input: z.object({ ...searchInput('URL, tag, page type, source or actor'), limit, offset }),
  output: z.object({ success, total: count, limit: count, offset: count, items: z.array(purgeItem), ...searchOutput }),
  http: { method: 'GET', path: '/reverse-proxy-stats/recent' },
  async run({ app, signal }, { search, before, ...range }) {
    const { db } = await app.records()
    if (search) {
      const { searchPurges } = await import('../purge/log/search.ts')
      return found(range, await searchPurges(db, toSearch(search, before, range, signal)))
    }
    const { listRecent } = await import('../purge/log/purge-log.ts')
    return { ...succeeded, ...(await listRecent(db, range)), ...range }
  },
})

export const purgedUrls = defineOperation({
  name: 'purgeLog.urls',
  summary: 'Lists URLs that were purged by URL, tag or entity, the last purged first',
  input: z.object({ limit, offset }),
  output: z.object({
    success,
    total: count,
    items: z.array(z.object({ url: z.string(), purges: count, lastPurgedAt: z.iso.datetime() })),
  }),
  http: { method: 'GET', path: '/reverse-proxy-log/urls' },
  async run({ app }, range) {
    const { listUrls } = await import('../purge/log/purge-log.ts')
    await (await app.purges()).catchUp()
    const { db } = await app.records()
    return { ...succeeded, ...(await listUrls(db, range)) }
  },
})

/** A section of a timeline: `offset` counts back from the latest purge, `items` are oldest first. */
const timeline = {
  total: count,
  limit: count,
  offset: described(count, 'number of the latest purges skipped'),
  items: described(z.array(purgeItem), 'oldest first'),
}

export const urlFlow = defineOperation({
  name: 'purgeLog.urlFlow',
  summary: 'Lists the latest purges that removed the page of a URL or one of its fragments, oldest first',
  input: z.object({ url: text('expected a URL'), limit, offset }),
  output: z.object({ success, url: described(z.string(), 'in its canonical form'), ...timeline }),
  http: { method: 'GET', path: '/reverse-proxy-log/url-flow' },
  async run({ app }, { url: given, ...range }) {
    const address = toPageAddress(given, app.config.salesChannels)
    const [{ readUrlFlow }, { toPageUrl }, { fragmentUrls }] = await Promise.all([
      import('../purge/log/purge-log.ts'),
      import('../cache/purge-urls.ts'),
      import('../cache/esi/fragment-urls.ts'),
    ])
    const { cache } = await app.storefrontCache()
    const url = toPageUrl(address, cache.classifying) ?? address
    await (await app.purges()).catchUp()
    const { db } = await app.records()
    return { ...succeeded, url, ...(await readUrlFlow(db, url, range, fragmentUrls(await app.pages(), url))), ...range }
  },
})

export const entityTimeline = defineOperation({
  name: 'purgeLog.entityTimeline',
  summary: 'Lists the latest purges of tags that name an entity, oldest first',
  input: z.object({
    entityType,
    entityId: z.optional(text('expected the id of an entity')),
    entityNumber: z.optional(text('expected a product number')),
    limit,
    offset,
  }),
  output: z.object({
    success,
    entityType,
    entityId: described(z.nullable(z.string()), 'null if no purge carried the number'),
    entityNumber: z.nullable(z.string()),
    ...timeline,
  }),
  http: { method: 'GET', path: '/reverse-proxy-log/entity-timeline' },
  async run({ app }, { limit, offset, ...named }) {
    const range = { limit, offset }
    const { findNumber, readTimeline } = await import('../purge/log/purge-log.ts')
    const entity = await findEntity(app, named)
    if (entity === null || entity === 'unknown') {
      return {
        ...succeeded,
        entityType: named.entityType,
        entityId: null,
        entityNumber: named.entityNumber ?? null,
        total: 0,
        ...range,
        items: [],
      }
    }
    await (await app.purges()).catchUp()
    const { db } = await app.records()
    const number = entity.number ?? (await findNumber(db, entity))
    return {
      ...succeeded,
      entityType: entity.type,
      entityId: entity.id,
      entityNumber: number,
      ...(await readTimeline(db, entity, range)),
      ...range,
    }
  },
})

export const recentInvalidations = defineOperation({
  name: 'invalidationLog.recent',
  summary: 'Lists invalidations, newest first',
  input: z.object({ ...searchInput('what was named, source or actor'), limit, offset }),
  output: z.object({
    success,
    total: count,
    limit: count,
    offset: count,
    ...searchOutput,
    items: z.array(
      z.object({
        id: z.string(),
        at: z.iso.datetime(),
        source: described(z.string(), 'api, cli, purge-method or task'),
        actor: z.nullable(z.string()),
        scope: z.string(),
        value: z.nullable(z.string()),
        pagesRemoved: count,
        unconfirmed,
      }),
    ),
  }),
  http: { method: 'GET', path: '/invalidation-log/recent' },
  async run({ app, signal }, { search, before, ...range }) {
    const { db } = await app.records()
    if (search) {
      const { searchInvalidations } = await import('../purge/log/search.ts')
      return found(range, await searchInvalidations(db, toSearch(search, before, range, signal)))
    }
    const { listInvalidations } = await import('../purge/log/invalidation-log.ts')
    return { ...succeeded, ...(await listInvalidations(db, range)), ...range }
  },
})

const clearedLog = z.object({ success, deleted: count })

export const clearPurgeLog = defineOperation({
  name: 'purgeLog.clear',
  summary: 'Deletes the purge log; unacknowledged purges are still delivered',
  input: z.object({}),
  output: clearedLog,
  http: { method: 'POST', path: '/reverse-proxy-stats/clear' },
  async run({ app }) {
    const { clearPurges } = await import('../purge/log/prune.ts')
    // Entries still to be written, after a crash or by a large purge, must be deleted too.
    await (await app.purges()).catchUp()
    return { ...succeeded, deleted: await clearPurges(await app.records()) }
  },
})

export const clearInvalidationLog = defineOperation({
  name: 'invalidationLog.clear',
  summary: 'Deletes the invalidation log',
  input: z.object({}),
  output: clearedLog,
  http: { method: 'POST', path: '/invalidation-log/clear' },
  async run({ app }) {
    const { clearInvalidations } = await import('../purge/log/prune.ts')
    await (await app.purges()).catchUp()
    return { ...succeeded, deleted: await clearInvalidations(await app.records()) }
  },
})
