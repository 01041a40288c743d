import { readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { Page } from '../../src/pages/page.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import type { FilesystemStoreOptions } from '../../src/pages/store-options.ts'
import { until } from '../helpers/until.ts'
import { accepted, aMoment, draft, openPages, origin, store } from '../stores/pages.ts'

const day = 86_400_000
const tagged = { kind: 'tags', tags: ['all-products'] } as const

interface Opened {
  pages: PageStore
  directory: string
  page: Page
  wait(ms: number): void
}

interface Way {
  by: string
  options?: Partial<FilesystemStoreOptions>
  remove(opened: Opened): Promise<unknown>
}

const ways: readonly Way[] = [
  { by: 'a renewal', remove: ({ pages }) => store(pages, 'a') },
  { by: 'a 304', remove: ({ pages, page }) => pages.freshen(page, draft('a'), pages.fence()) },
  { by: 'a hard purge', remove: ({ pages }) => pages.remove(tagged) },
  {
    by: 'a hard purge that is recorded first',
    async remove({ pages }) {
      await pages.remove(tagged, { trace: 2 })
      await pages.release([2])
    },
  },
  {
    by: 'a clear of its type that is recorded first',
    async remove({ pages }) {
      await pages.remove({ kind: 'type', type: 'products' }, { trace: 2 })
      await pages.release([2])
    },
  },
  { by: 'a clear of the store', remove: ({ pages }) => pages.remove({ kind: 'all' }) },
  { by: 'its age', remove: ({ wait }) => Promise.resolve(wait(2 * day)) },
  { by: 'the size limit', options: { maxSize: 30 }, remove: ({ pages }) => store(pages, 'long-name-of-a-page') },
  {
    by: 'the limit of variants',
    options: { maxVariants: 1 },
    remove: ({ pages }) => store(pages, 'a', { key: `${draft('a').key}\nother`, tags: [] }),
  },
  {
    by: 'a damaged body',
    async remove({ pages, directory, page }) {
      const { bodies } = placesIn(directory)
      for (const shard of readdirSync(bodies))
        for (const file of readdirSync(join(bodies, shard))) truncateSync(join(bodies, shard, file), 1)
      expect(await pages.readBody(page)).toBeNull()
    },
  },
]

/** Rows of the index: pages, and those of them that a soft purge has made stale. */
function rowsIn(directory: string): { pages: number; stale: number } {
  const index = new Database(placesIn(directory).index, { readonly: true })
  try {
    return index
      .prepare('SELECT (SELECT count(*) FROM page) AS pages, (SELECT count(*) FROM stale) AS stale')
      .get() as {
      pages: number
      stale: number
    }
  } finally {
    index.close()
  }
}

describe('a page that a soft purge has made stale and that is removed', () => {
  it.each(ways)('by $by keeps its URL until the purge is released', async ({ options = {}, remove }) => {
    let time = aMoment
    const { pages, directory } = await openPages({ ...options, now: () => time })
    const page = (await store(pages, 'a'))!
    expect(await pages.remove(tagged, { soft: true, trace: 1 })).toBe(1)
    await remove({ pages, directory, page, wait: (ms) => (time += ms) })
    expect(pages.find(page.key)).not.toContainEqual(expect.objectContaining({ id: page.id, staleAt: aMoment }))
    await pages.sweep()
    expect(await pages.taken(1, 0, 10)).toMatchObject([{ url: `${origin}/a`, value: 0 }])
    await pages.release([1])
    await pages.sweep()
    const { total } = pages.list({ limit: 10, offset: 0 })
    await until(() => expect(rowsIn(directory)).toEqual({ pages: total, stale: 0 }))
  })
})

it('a page renewed by a 304 is fresh, keeps its id, and can be soft-purged again before the first purge is recorded', async () => {
  const { pages } = await openPages()
  const page = (await store(pages, 'a'))!
  await pages.remove(tagged, { soft: true, trace: 1 })
  expect(pages.find(page.key)).toMatchObject([{ staleAt: aMoment }])
  expect(accepted(await pages.freshen(page, draft('a'), pages.fence()))).toMatchObject({ id: page.id })
  expect(pages.find(page.key)).toMatchObject([{ id: page.id, staleAt: draft('a').staleAt }])
  expect(pages.counters().products.count).toBe(1)
  expect(await pages.remove(tagged, { soft: true, trace: 2 })).toBe(1)
  expect(pages.find(page.key)).toMatchObject([{ id: page.id, staleAt: aMoment }])
  expect(await pages.taken(1, 0, 10)).toMatchObject([{ url: page.url }])
  expect(await pages.taken(2, 0, 10)).toMatchObject([{ id: page.id, url: page.url }])
  expect(await pages.readBody(page)).not.toBeNull()
})
