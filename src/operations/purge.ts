import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import { toPageView } from '../pages/page-view.ts'
import type { Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { entityTypes } from '../purge/entities.ts'
import type { Invalidation, Target } from '../purge/invalidation.ts'
import { pageView } from './cache.ts'
import { deliveries, describeDeliveries } from './deliveries.ts'
import { findEntity } from './entity.ts'
import { count, described, flag, success, succeeded, text, unconfirmed } from './fields.ts'
import { defineOperation } from './operation.ts'
import { readPages } from './read-pages.ts'

/** Most URLs or tags in one request. */
const maxTargets = 100_000
const list = (what: string) =>
  z.optional(
    z
      .array(text(`expected a non-empty ${what}`), { error: `expected a list of ${what}s` })
      .check(z.maxLength(maxTargets, { error: `expected at most ${maxTargets} ${what}s` })),
  )

export const entityType = z.enum(entityTypes, { error: `expected one of ${entityTypes.join(', ')}` })

const purged = z.object({
  success,
  invalidationId: described(z.nullable(z.string()), 'null with dryRun'),
  pagesRemoved: described(count, 'pages removed from the caches of all nodes, or marked as stale by a soft purge'),
  softened: described(
    z.array(z.object({ tag: z.string(), pages: count, share: described(z.number(), 'of all pages, from 0 to 1') })),
    'tags that are on too many pages, so that purge.softAbove made their purge soft; a warmup renews these pages, the most visited ones first',
  ),
  nodes: described(
    z.optional(z.array(z.object({ name: z.string(), pagesRemoved: count }))),
    'the share of each node, with several machines',
  ),
  unconfirmed,
  ...deliveries,
  dryRun: z.optional(z.literal(true)),
  wouldRemove: z.optional(count),
  pages: described(z.optional(z.array(pageView)), 'with dryRun: a sample of the pages'),
})

export type Purged = z.output<typeof purged>

export const purge = defineOperation({
  name: 'purge',
  summary: 'Purges URLs, tags or an entity, in the cache and at every reverse proxy',
  input: z.object({
    urls: list('URL'),
    tags: list('tag'),
    entityType: z.optional(entityType),
    entityId: z.optional(text('expected the id of an entity')),
    entityNumber: z.optional(text('expected a product number')),
    soft: described(flag, 'marks the pages as stale instead of removing them'),
    hard: described(flag, 'removes the pages even if purge.softAbove would mark them as stale'),
    dryRun: flag,
  }),
  output: purged,
  http: { method: 'POST', path: '/purge' },
  async run({ app, source, actor }, input) {
    const { soft, hard } = input
    if (soft && hard) throw new PagecacheError('INVALID_INPUT', 'soft and hard: expected at most one of them')
    const targets = await toTargets(app, input)
    const delivery = await describeDeliveries(app)
    if (input.dryRun)
      return {
        ...succeeded,
        invalidationId: null,
        pagesRemoved: 0,
        ...delivery,
        ...(await previewPurge(app, { targets, soft, hard })),
      }
    await app.usablePages()
    const purging = await app.purges()
    return { ...succeeded, ...(await purging.invalidate({ targets, soft, hard, source, actor })), ...delivery }
  },
})

type PurgeInput = z.output<typeof purge.input>

async function toTargets(app: App, input: PurgeInput): Promise<Target[]> {
  const { urls = [], tags = [] } = input
  const targets: Target[] = []
  if (urls.length > 0) targets.push({ scope: 'urls', urls: await toUrls(app, urls) })
  if (tags.length > 0) targets.push({ scope: 'tags', tags })
  const entity = await findEntity(app, input)
  if (entity === 'unknown') {
    throw new PagecacheError('NOT_FOUND', `Unknown product number ${input.entityNumber}`, {
      hint: 'Pass the id too; a purge with both teaches pagecache the number.',
    })
  }
  if (entity !== null) targets.push({ scope: 'entity', ...entity })
  if (targets.length === 0)
    throw new PagecacheError('INVALID_INPUT', 'urls, tags or entityType: expected at least one of them')
  return targets
}

/** @throws INVALID_INPUT for a URL that belongs to no sales channel and to no cached page */
async function toUrls(app: App, urls: readonly string[]): Promise<string[]> {
  const { toOwnUrl } = await import('./own-url.ts')
  const { cache } = await app.storefrontCache()
  const pages = await app.pages()
  return urls.map((url, index) =>
    toOwnUrl(url, `urls[${index}]`, cache.classifying, (canonical) => pages.findByUrl(canonical).length > 0),
  )
}

/** Pages listed by a dry run; `wouldRemove` counts all of them. */
const dryRunSample = 50

async function previewPurge(app: App, asked: Pick<Invalidation, 'targets' | 'soft' | 'hard'>) {
  const [{ toKeys }, { softenedOf }] = await Promise.all([
    import('../purge/purge-key.ts'),
    import('../purge/budget.ts'),
  ])
  const keys = toKeys(asked.targets)
  const tags = keys.flatMap((key) => ('tag' in key ? [key.tag] : []))
  const urls = keys.flatMap((key) => (key.kind === 'url' ? [key.url] : []))
  return readPages(app, async (pages) => {
    const wouldRemove = (await pages.count({ kind: 'tags', tags })) + (await pages.count({ kind: 'urls', urls }))
    const softened = await softenedOf(pages, app.config.purge.softAbove, keys, asked)
    const sample = new Map<number, Page>()
    for (const page of samplesOf(pages, tags, urls)) {
      sample.set(page.id, page)
      if (sample.size === dryRunSample) break
    }
    return {
      dryRun: true as const,
      wouldRemove,
      softened: [...softened.values()],
      pages: [...sample.values()].map((page) => toPageView(page, app.now())),
    }
  })
}

function* samplesOf(pages: PageStore, tags: readonly string[], urls: readonly string[]): Generator<Page> {
  for (const url of urls) yield* pages.findByUrl(url)
  for (const tag of tags) yield* pages.list({ tag, limit: dryRunSample, offset: 0 }).items
}
