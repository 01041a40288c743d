import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { newBodyFile } from '../../src/pages/body-files.ts'
import { pageTypes } from '../../src/pages/page.ts'
import type { NewPage, PageStore } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { until } from '../helpers/until.ts'
import { accepted, aMoment, draft, openPages } from '../stores/pages.ts'

const maxSize = 400_000
const groupPages = 16
const bytes = 2_000
/** Room is made from an eighth above the limit on; files with live and dead pages take up to a third more. */
const [dense, sparse] = [maxSize * 1.125, maxSize * (1.125 + 1 / 3)]

/** A store that leaves dead pages to a worker that never comes: what is removed is removed before pages are stored. */
async function openStore(options: { directory?: string; maxSize?: number } = {}) {
  const opened = await openPages({ maxSize, ...options })
  opened.pages.handOver({ remove: () => Promise.reject(new Error('not here')), cleanUp() {} })
  return opened
}

/** Stores a group of new pages as a writer thread does: their bodies share a file. */
async function crawl(pages: PageStore, group: number, size = bytes) {
  const file = newBodyFile('a key')
  const made = Array.from({ length: groupPages }, (_, n): NewPage => {
    const body = Buffer.alloc(size, group * groupPages + n)
    return { draft: draft(`g${group}n${n}`), body, fence: pages.fence(), file }
  })
  return (await pages.writeTogether(made)).map(accepted)
}

async function bytesIn(directory: string): Promise<number> {
  const { bodies, temporary } = placesIn(directory)
  let sum = 0
  for (const place of [bodies, temporary])
    for (const entry of await readdir(place, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size
  return sum
}

const all = (pages: PageStore) => liveSize(pages) + pages.deadSize()
const liveSize = (pages: PageStore) => pageTypes.reduce((sum, type) => sum + pages.counters()[type].size, 0)

describe('the bodies on the disk', () => {
  it('stay near the limit in a crawl, however late dead pages are removed otherwise', async () => {
    const { pages, directory } = await openStore()
    for (let group = 0; group < 60; group += 1) {
      await crawl(pages, group)
      expect(await bytesIn(directory)).toBeLessThanOrEqual(dense)
    }
    expect(pages.counters().products.size).toBeGreaterThan(maxSize * 0.9)
  })

  it('stay near it where each file keeps a page that visitors ask for', async () => {
    const { pages, directory } = await openStore()
    for (let group = 0; group < 60; group += 1) {
      const [page] = await crawl(pages, group)
      pages.recordHits([{ page: page!, hits: 1, ms: 1, usedAt: aMoment }])
      expect(await bytesIn(directory)).toBeLessThanOrEqual(sparse)
    }
  })

  it('stay near it where pages become larger', async () => {
    const { pages, directory } = await openStore()
    for (let group = 0; group < 30; group += 1) await crawl(pages, group, 500)
    for (let group = 30; group < 60; group += 1) {
      await crawl(pages, group, 15_000)
      expect(await bytesIn(directory)).toBeLessThanOrEqual(sparse)
    }
    accepted(await pages.put(draft('largest'), Buffer.alloc(maxSize), pages.fence()))
    expect(await bytesIn(directory)).toBeLessThanOrEqual(sparse)
  })

  it('do not grow while those of a purge wait, which holds up no page until all of them are removed', async () => {
    const { pages, directory } = await openStore()
    for (let group = 0; group < 12; group += 1) await crawl(pages, group)
    await pages.remove({ kind: 'type', type: 'products' })
    const waiting = pages.deadSize()
    expect(waiting).toBe(await bytesIn(directory))
    await crawl(pages, 12)
    expect(pages.deadSize()).toBe(waiting)
    for (let group = 13; group < 60; group += 1) {
      await crawl(pages, group)
      expect(await bytesIn(directory)).toBeLessThanOrEqual(dense)
    }
  })

  it('shrink a little with each group once the limit is lowered', async () => {
    const { pages: before, directory } = await openStore()
    for (let group = 0; group < 15; group += 1) await crawl(before, group)
    await before.close()
    const { pages } = await openStore({ directory, maxSize: 100_000 })
    const sizes = [all(pages)]
    for (let group = 15; group < 30; group += 1) {
      await crawl(pages, group)
      sizes.push(all(pages))
    }
    expect(sizes[1]).toBeLessThan(sizes[0]!)
    expect(sizes[1]).toBeGreaterThan(100_000 * 1.125)
    expect(sizes.at(-1)).toBeLessThanOrEqual(100_000 * 1.125)
  })
})

it('counts the bytes of all dead pages, however they died', async () => {
  const { pages, directory } = await openStore()
  const database = new Database(placesIn(directory).index, { readonly: true })
  const stored = () => database.prepare('SELECT sum(size) FROM page').pluck().get() as number
  for (let group = 0; group < 20; group += 1) await crawl(pages, group)
  const evicted = pages.deadSize()
  expect(evicted).toBeGreaterThan(0)
  await pages.put(draft('g19n0'), Buffer.alloc(10), pages.fence())
  await pages.remove({ kind: 'matching', matches: (url) => url === draft('g19n1').url })
  await pages.removeTogether([{ selection: { kind: 'tags', tags: ['product-g19n2'] } }])
  await pages.removeTogether([{ selection: { kind: 'tags', tags: ['product-g19n3'] }, soft: true }])
  // And perhaps more that was evicted meanwhile.
  expect(pages.deadSize() - evicted).toBeGreaterThanOrEqual(3 * bytes)
  expect(all(pages)).toBe(stored())
  await pages.remove({ kind: 'type', type: 'products' })
  expect(liveSize(pages)).toBe(0)
  expect(pages.deadSize()).toBe(stored())
  database.close()
  pages.handOver(null)
  pages.cleanUp()
  await until(() => expect(pages.deadSize()).toBe(0))
  expect(await bytesIn(directory)).toBe(0)
})
