import * as z from 'zod/mini'
import { toPageView } from '../pages/page-view.ts'
import { PagecacheError } from '../errors.ts'
import type { PageType } from '../pages/page.ts'
import { pageSorts } from '../pages/page-store.ts'
import { toStatistics } from '../pages/statistics.ts'
import type { Invalidated, Invalidation, Target } from '../purge/invalidation.ts'
import { count, described, flag, limit, offset, pageType, success, succeeded, text, unconfirmed } from './fields.ts'
import { countNodes } from './count-nodes.ts'
import { deliveries, describeDeliveries, optionalDeliveries } from './deliveries.ts'
import { defineOperation, type OperationContext } from './operation.ts'
import { ownNode, toOwnNode } from './own-node.ts'
import { readPages } from './read-pages.ts'

const seconds = described(z.number(), 'seconds')

const typeDetail = z.object({
  count,
  spaceSaved: count,
  avgGenerationTime: seconds,
  avgCacheHitTime: seconds,
})

/** Statistics of the page store. All fields are always present, zero when empty. */
export const statistics = z.object({
  totalFiles: count,
  totalSize: described(count, 'bytes'),
  totalSizeFormatted: z.string(),
  byType: z.object({ products: count, categories: count, cms: count, listings: count, buybox: count }),
  aggregated: z.object({
    totalPages: count,
    totalOriginalSize: count,
    totalCachedSize: count,
    totalSpaceSaved: count,
    avgGenerationTime: seconds,
    avgCacheHitTime: seconds,
    compressionEnabled: z.boolean(),
  }),
  byTypeDetailed: z.object({
    product: typeDetail,
    category: typeDetail,
    cms: typeDetail,
    listing: typeDetail,
    buybox: typeDetail,
  }),
  shared: described(
    z.optional(
      z.object({
        usable: described(z.boolean(), 'whether shared pages can be read'),
        hits: described(
          z.nullable(count),
          'pages of other machines that were used instead of a fetch, on all machines',
        ),
      }),
    ),
    'with cache.shared.url',
  ),
  nodes: described(
    z.optional(
      z.array(z.object({ name: z.string(), totalFiles: count, totalSize: count, totalSizeFormatted: z.string() })),
    ),
    'the page store of each live node, with several machines; all other figures are sums over them',
  ),
})

export type Statistics = z.output<typeof statistics>

/** A stored page, as listed and inspected. Durations in seconds, sizes in bytes. */
export const pageView = z.object({
  key: z.string(),
  url: z.string(),
  type: pageType,
  tags: z.array(z.string()),
  status: z.int(),
  vary: z.record(z.string(), z.nullable(z.string())),
  age: z.number(),
  freshnessLeft: described(z.number(), 'seconds; negative: stale since then'),
  state: z.enum(['fresh', 'stale']),
  hits: count,
  size: count,
  originalSize: count,
  encoding: z.string(),
  storedAt: z.iso.datetime(),
})

/** Output fields of clearing pages, with several machines. */
const clearedNodes = {
  nodes: described(
    z.optional(z.array(z.object({ name: z.string(), filesDeleted: count }))),
    'the share of each node, with several machines',
  ),
  unconfirmed,
}

/** Output of clearing pages; with `dryRun`, what would be cleared. */
const cleared = z.object({
  success,
  filesDeleted: count,
  type: z.optional(pageType),
  ...clearedNodes,
  ...z.partial(z.object(deliveries)).shape,
  dryRun: z.optional(z.literal(true)),
  wouldDelete: z.optional(count),
  pages: described(z.optional(z.array(pageView)), 'with dryRun: a sample of the pages'),
})

export type Cleared = z.output<typeof cleared>

export const clearPages = defineOperation({
  name: 'cache.clear',
  summary: 'Clears all cached pages',
  input: z.object({ dryRun: flag }),
  output: cleared,
  http: { method: 'POST', path: '/clear' },
  async run(context, input) {
    return clear(context, { kind: 'all' }, input.dryRun)
  },
})

export const clearPagesByType = defineOperation({
  name: 'cache.clearByType',
  summary: 'Clears all cached pages of a type',
  input: z.object({ type: pageType, dryRun: flag }),
  output: cleared,
  http: { method: 'POST', path: '/clear-by-type' },
  async run(context, { type, dryRun }) {
    return { ...(await clear(context, { kind: 'type', type }, dryRun)), type }
  },
})

export const clearApplicationCache = defineOperation({
  name: 'cache.clearApplication',
  summary: 'Clears the application cache directory, including every cached page',
  input: z.object({ dryRun: flag }),
  output: z.object({
    success,
    filesDeleted: count,
    directory: z.string(),
    ...clearedNodes,
    ...z.partial(z.object(deliveries)).shape,
    dryRun: z.optional(z.literal(true)),
    wouldDelete: z.optional(count),
  }),
  http: { method: 'POST', path: '/application-cache/clear' },
  async run(context, input) {
    const { app } = context
    const directory = app.loaded.places.cacheDir
    const delivery = optionalDeliveries(await describeDeliveries(app))
    if (input.dryRun) {
      const wouldDelete = await readPages(app, (pages) => pages.count({ kind: 'all' }))
      return { ...succeeded, filesDeleted: 0, directory, ...delivery, dryRun: true as const, wouldDelete }
    }
    await app.usablePages()
    const purging = await app.purges()
    const done = await purging.invalidate({
      ...toInvalidation(context, [{ scope: 'all', value: 'application-cache' }]),
      wholeDirectory: true,
    })
    return { ...succeeded, ...toCleared(done), directory, ...delivery }
  },
})

export const cacheStatistics = defineOperation({
  name: 'cache.stats',
  summary: 'Shows counts, sizes and timings of the cached pages',
  input: z.object({}),
  output: statistics,
  http: { method: 'GET', path: '/stats' },
  async run({ app }) {
    const own = await readPages(app, (pages) => pages.counters())
    const nodes = app.node === null ? null : await countNodes(app, own)
    const shared = await app.sharedPages()
    return {
      ...toStatistics(nodes?.counters ?? own, app.config.cache.compression),
      ...(shared !== null && { shared: await shared.statistics() }),
      ...(nodes !== null && { nodes: nodes.nodes }),
    }
  },
})

const sort = z.enum(pageSorts, { error: `expected one of ${pageSorts.join(', ')}` })

/** Most pages that are sorted by a column without an index: visitors wait as long as it takes. */
const maxSorted = 5_000

function assertSortable(pages: number): void {
  if (pages > maxSorted)
    throw new PagecacheError(
      'INVALID_INPUT',
      `sort: ${pages} pages match, and at most ${maxSorted} can be sorted by this. Narrow the list by type, tag or prefix.`,
    )
}

export const listPages = defineOperation({
  name: 'cache.list',
  summary: 'Lists cached pages by type, tag or URL prefix',
  input: z.object({
    type: z.optional(pageType),
    tag: z.optional(text()),
    prefix: z.optional(text()),
    sort: described(z.optional(sort), 'with `-` descending; hits and size of at most 5,000 matching pages'),
    limit,
    offset,
  }),
  output: z.object({ success, total: count, limit: count, offset: count, items: z.array(pageView), node: ownNode }),
  http: { method: 'GET', path: '/pages' },
  /** @throws INVALID_INPUT where sorting would have to read too many pages */
  async run({ app }, { type, tag, prefix, sort, limit, offset }) {
    const filter = {
      limit,
      offset,
      ...(type !== undefined && { type }),
      ...(tag !== undefined && { tag }),
      ...(prefix !== undefined && { urlPrefix: prefix }),
      ...(sort !== undefined && { sort }),
    }
    const { total, items } = await readPages(app, (pages) => {
      if (sort !== undefined && /hits|size/.test(sort)) assertSortable(pages.list({ ...filter, limit: 0 }).total)
      return pages.list(filter)
    })
    const views = items.map((page) => toPageView(page, app.now()))
    return { ...succeeded, total, limit, offset, items: views, ...toOwnNode(app) }
  },
})

export const listTags = defineOperation({
  name: 'cache.tags',
  summary: 'Lists the tags of cached pages by their beginning',
  input: z.object({ beginning: z._default(z.string(), ''), limit }),
  output: z.object({ success, items: z.array(z.string()) }),
  http: { method: 'GET', path: '/pages/tags' },
  async run({ app }, { beginning, limit }) {
    return { ...succeeded, items: await readPages(app, (pages) => pages.tags(beginning, limit)) }
  },
})

/** Pages listed by a dry run; `wouldDelete` counts all of them. */
const dryRunSample = 50

function toInvalidation({ source, actor }: OperationContext, targets: readonly Target[]): Invalidation {
  return { targets, soft: false, source, actor }
}

function toCleared({ pagesRemoved, nodes, unconfirmed }: Invalidated) {
  return {
    filesDeleted: pagesRemoved,
    ...(nodes && { nodes: nodes.map((node) => ({ name: node.name, filesDeleted: node.pagesRemoved })) }),
    ...(unconfirmed && { unconfirmed }),
  }
}

async function clear(
  context: OperationContext,
  selection: { kind: 'all' } | { kind: 'type'; type: PageType },
  dry: boolean,
): Promise<Cleared> {
  const { app } = context
  const delivery = optionalDeliveries(await describeDeliveries(app))
  if (!dry) {
    await app.usablePages()
    const purging = await app.purges()
    const target =
      selection.kind === 'all' ? { scope: 'all' as const } : { scope: 'type' as const, type: selection.type }
    const done = await purging.invalidate(toInvalidation(context, [target]))
    return { ...succeeded, ...toCleared(done), ...delivery }
  }
  const filter = { limit: dryRunSample, offset: 0, ...(selection.kind === 'type' && { type: selection.type }) }
  return readPages(app, async (pages) => ({
    ...succeeded,
    filesDeleted: 0,
    ...delivery,
    dryRun: true as const,
    wouldDelete: await pages.count(selection),
    pages: pages.list(filter).items.map((page) => toPageView(page, app.now())),
  }))
}
