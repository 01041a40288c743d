import { rename } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it, onTestFinished, vi, type MockInstance } from 'vitest'
import { PageReads } from '../../src/pages/page-reads.ts'
import { placesIn } from '../../src/pages/places.ts'
import type { Page } from '../../src/pages/page.ts'
import type { PageStore, Selection } from '../../src/pages/page-store.ts'
import { accepted, bodyOf, draft, openPages, origin, store } from '../stores/pages.ts'

let lookUps: MockInstance
beforeEach(() => {
  lookUps = vi.spyOn(PageReads.prototype, 'find')
  onTestFinished(() => lookUps.mockRestore())
})

const newest = ([page]: readonly Page[]) => page ?? null

/** What a read returns, and whether it asked the index. A read that the system interrupts may not happen at once, and is repeated. */
async function read(pages: PageStore, name: string) {
  await nextTurn()
  lookUps.mockClear()
  const found = pages.readPage(draft(name).key, newest)
  return found && { id: found.page.id, body: found.body.toString(), asked: lookUps.mock.calls.length > 0 }
}

/** A store with a writer thread that remembers the page `a`, and another store on the same directory. */
async function openRemembering() {
  const { pages, directory } = await openPages({ writer: true })
  const { pages: other } = await openPages({ directory })
  const page = await store(pages, 'a')
  await store(pages, 'b')
  expect(await read(pages, 'a')).toMatchObject({ id: page!.id, asked: true })
  expect(await read(pages, 'a')).toEqual({ id: page!.id, body: bodyOf('a').toString(), asked: false })
  return { pages, directory, other, page: page! }
}

describe('a page that was read from the disk', () => {
  it.each<Selection>([
    { kind: 'all' },
    { kind: 'type', type: 'products' },
    { kind: 'tags', tags: ['product-x', 'product-a'] },
    { kind: 'urls', urls: [`${origin}/a`] },
    { kind: 'matching', matches: (url) => url.endsWith('/a') },
  ])('is not read after a removal by another store: %j', async (selection) => {
    const { pages, other } = await openRemembering()
    await other.remove(selection)
    expect(await read(pages, 'a')).toBeNull()
    expect(await read(pages, 'a')).toBeNull()
  })

  it('is stale after a soft purge', async () => {
    const { pages, other, page } = await openRemembering()
    await other.remove({ kind: 'tags', tags: ['product-a'] }, { soft: true })
    await nextTurn()
    const found = pages.readPage(draft('a').key, newest)
    expect(found?.page.id).toBe(page.id)
    expect(found!.page.staleAt).toBeLessThan(page.staleAt)
  })

  it('needs no look-up after removals of other pages, unless there were many', async () => {
    const { pages, other } = await openRemembering()
    const removeOthers = async (times: number) => {
      for (let n = 0; n < times; n++) await other.remove({ kind: 'tags', tags: [`product-b${n}`] })
    }
    await removeOthers(128)
    expect(await read(pages, 'a')).toMatchObject({ asked: false })
    await removeOthers(129)
    expect(await read(pages, 'a')).toMatchObject({ asked: true })
    expect(await read(pages, 'a')).toMatchObject({ asked: false })
    await other.remove({ kind: 'tags', tags: Array.from({ length: 129 }, (_, n) => `product-c${n}`) })
    expect(await read(pages, 'a')).toMatchObject({ asked: true })
    await other.remove({ kind: 'tags', tags: Array.from({ length: 100 }, (_, n) => `product-c${n}`) })
    await removeOthers(28)
    expect(await read(pages, 'a')).toMatchObject({ asked: false })
    await other.remove({ kind: 'tags', tags: ['product-c', 'all-products'] })
    expect(await read(pages, 'a')).toBeNull()
  })

  it('is looked up again where another store has stored a newer one', async () => {
    const { pages, other } = await openRemembering()
    const newer = await store(other, 'a')
    expect(await read(pages, 'a')).toMatchObject({ id: newer!.id, asked: true })
  })

  it('is looked up again where a newer one waits to be stored, and once it is stored', async () => {
    const { pages, directory } = await openRemembering()
    const holder = new Database(placesIn(directory).index)
    holder.exec('BEGIN IMMEDIATE')
    const waiting = accepted(await pages.take(draft('a'), Buffer.from('newer'), pages.fence()))
    // Its body is in no file yet: the caller reads it on another path.
    expect(await read(pages, 'a')).toBeNull()
    holder.exec('COMMIT').close()
    await pages.settled(waiting)
    expect(await read(pages, 'a')).toEqual({ id: waiting.id, body: 'newer', asked: true })
  })

  it('is looked up again after it was renewed', async () => {
    const { pages, page } = await openRemembering()
    accepted(await pages.freshen(page, draft('a', { cachedAt: page.cachedAt + 1_000 }), pages.fence()))
    await nextTurn()
    expect(pages.readPage(draft('a').key, newest)?.page.cachedAt).toBe(page.cachedAt + 1_000)
  })

  it('is looked up again where its body is in another file now', async () => {
    const { pages, directory, page } = await openRemembering()
    const index = new Database(placesIn(directory).index)
    onTestFinished(() => void index.close())
    const { file } = index.prepare<[number], { file: string }>('SELECT file FROM page WHERE id = ?').get(page.id)!
    const path = `${placesIn(directory).bodies}/${file}`
    await rename(path, `${path}.moved`)
    expect(await read(pages, 'a')).toBeNull()
    await rename(`${path}.moved`, path)
    expect(await read(pages, 'a')).toMatchObject({ id: page.id, asked: true })
  })

  it('is looked up again where the caller wants none of those remembered', async () => {
    const { pages } = await openRemembering()
    expect(pages.readPage(draft('a').key, () => null)).toBeNull()
    expect(await read(pages, 'a')).toMatchObject({ asked: true })
  })
})

it('the next read overwrites a body, but not one that was read by itself', async () => {
  const { pages, page } = await openRemembering()
  const own = pages.readBodyNow(page)!
  const first = pages.readPage(draft('a').key, newest)!.body
  expect(pages.readPage(draft('b').key, newest)!.body.toString()).toBe(bodyOf('b').toString())
  expect(first.toString()).toBe(bodyOf('b').toString())
  expect(own.toString()).toBe(bodyOf('a').toString())
})
