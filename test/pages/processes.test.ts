import { readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Selection } from '../../src/pages/page-store.ts'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import { PageIndex } from '../../src/pages/page-index.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { bodyOf, draft, openPages, origin, store } from '../stores/pages.ts'
import { startOther } from './fork.ts'
import { until } from '../helpers/until.ts'

const selections: [string, Selection][] = [
  ['all', { kind: 'all' }],
  ['a type', { kind: 'type', type: 'products' }],
  ['a tag', { kind: 'tags', tags: ['product-a'] }],
  ['a URL', { kind: 'urls', urls: [`${origin}/a`] }],
]

describe('two stores of one process on one directory', () => {
  it.each(selections)('a removal of %s by one applies to the other at once', async (_, selection) => {
    const { pages: one, directory } = await openPages()
    const { pages: two } = await openPages({ directory })
    const received: Selection[] = []
    two.onRemoved((removed) => received.push(removed))
    await store(one, 'a')
    expect(two.find(draft('a').key)).toHaveLength(1)
    const fence = two.fence()
    expect(await one.remove(selection)).toBe(1)
    two.poll()
    expect(received).toEqual([selection])
    expect(two.holds(fence)).toBe(false)
    expect(two.find(draft('a').key)).toEqual([])
    expect(await two.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
  })

  it('a removal applies at the first request after a pause, in which the files could have been replaced too', async () => {
    const { pages: one, directory } = await openPages()
    const { pages: two } = await openPages({ directory })
    const received: Selection[] = []
    two.onRemoved((removed) => received.push(removed))
    await store(one, 'a')
    await one.remove({ kind: 'all' })
    // Stands still like a stopped process: no timer runs before the request.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100)
    two.poll()
    expect(received).toEqual([{ kind: 'all' }])
  })

  it('each store is notified of the keys that the other stores', async () => {
    const { pages: one, directory } = await openPages()
    const { pages: two } = await openPages({ directory })
    const received = { one: [] as string[], two: [] as string[] }
    one.onRenewed((keys) => received.one.push(...keys))
    two.onRenewed((keys) => received.two.push(...keys))
    await store(one, 'a')
    await store(two, 'b')
    await store(one, 'a')
    one.poll()
    two.poll()
    expect(received).toEqual({ one: [draft('b').key], two: [draft('a').key, draft('a').key] })
  })

  it('a store that missed pruned removals is notified of a removal of everything', async () => {
    const { pages, directory } = await openPages()
    const received: Selection[] = []
    pages.onRemoved((removed) => received.push(removed))
    const index = new PageIndex(placesIn(directory))
    // Removed and pruned in one commit, so that no store can poll in between.
    index.write(() => {
      index.log.append({ kind: 'tags', tags: ['x'] }, 0)
      index.log.prune(1)
    })
    index.close()
    pages.poll()
    expect(received).toEqual([{ kind: 'all' }])
  })
})

describe('a second process', () => {
  it.each(selections)('its removal of %s applies here at the next request', async (_, selection) => {
    const { pages, directory } = await openPages()
    const other = await startOther(directory)
    await store(pages, 'a')
    expect(await other.ask({ ask: 'find', name: 'a' })).toBe(0)
    await store(pages, 'a', { deleteAt: Number.POSITIVE_INFINITY })
    expect(await other.ask({ ask: 'find', name: 'a' })).toBe(1)
    const received: Selection[] = []
    pages.onRemoved((removed) => received.push(removed))
    const fence = pages.fence()
    expect(await other.ask({ ask: 'remove', selection })).toBe(1)
    pages.poll()
    expect(received).toEqual([selection])
    expect(pages.find(draft('a').key)).toEqual([])
    expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
    await store(pages, 'a', { deleteAt: Number.POSITIVE_INFINITY })
    expect(await other.ask({ ask: 'find', name: 'a' })).toBe(1)
  })

  it('clears while we store: no error, and no removed page is served', async () => {
    const { pages, directory, warnings } = await openPages()
    const other = await startOther(directory)
    let ended = false
    const storing = (async () => {
      for (let n = 0; !ended; n += 1) await store(pages, `p${n % 50}`)
    })()
    for (let round = 0; round < 10; round += 1) {
      await store(pages, 'before', { deleteAt: Number.POSITIVE_INFINITY })
      expect(await other.ask({ ask: 'remove', selection: { kind: 'all' } })).toBeGreaterThan(0)
      expect(pages.find(draft('before').key)).toEqual([])
    }
    ended = true
    await storing
    expect(warnings).toEqual([])
    const listed = pages.list({ limit: 1_000, offset: 0 })
    expect(listed.total).toBe(pages.counters().products.count)
    for (const page of listed.items) expect(await pages.readBody(page)).not.toBeNull()
  })

  it('closes before all pages are deleted: we delete the rest', async () => {
    const { pages, directory } = await openPages()
    const other = await startOther(directory)
    for (let n = 0; n < 400; n += 1) await store(pages, `p${n}`)
    expect(await other.ask({ ask: 'remove', selection: { kind: 'type', type: 'products' } })).toBe(400)
    await pause(40)
    expect(await other.ask({ ask: 'close' })).toBe('closed')
    await other.kill()
    pages.poll()
    const shards = async () =>
      (await readdir(placesIn(directory).bodies, { recursive: true })).filter((name) => name.includes('.'))
    await until(async () => expect(await shards()).toEqual([]))
  })

  it('killed while it stores: the pages are intact', async () => {
    const { pages, directory } = await openPages()
    for (let round = 0; round < 3; round += 1) {
      const other = await startOther(directory)
      const before = pages.counters().products.count
      await other.ask({ ask: 'putForEver' })
      await until(() => expect(pages.counters().products.count).toBeGreaterThan(before + 20))
      await other.kill()
    }
    const { total, items } = pages.list({ limit: 1_000, offset: 0 })
    expect(items).toHaveLength(total)
    expect(pages.counters().products.count).toBe(total)
    for (const page of items) expect(await pages.readBody(page)).not.toBeNull()
    expect(pages.damaged()).toBe(0)
  })
})

describe('clearing', () => {
  it('concurrent clears succeed, and their counts add up', async () => {
    const { pages: one, directory } = await openPages()
    const { pages: two } = await openPages({ directory })
    for (let n = 0; n < 20; n += 1) await store(one, `p${n}`)
    const counts = await Promise.all([
      one.remove({ kind: 'all' }),
      two.remove({ kind: 'all' }),
      clearApplicationCache(directory),
    ])
    expect(counts.reduce((sum, count) => sum + count)).toBe(20)
    expect(one.counters().products.count + two.counters().products.count).toBe(0)
    await store(one, 'new')
    expect(two.find(draft('new').key)).toHaveLength(1)
  })

  it('directories moved aside are deleted in the background', async () => {
    const { pages, directory } = await openPages()
    for (let n = 0; n < 20; n += 1) await store(pages, `p${n}`)
    expect(await pages.remove({ kind: 'all' })).toBe(20)
    await until(async () => expect(await readdir(directory)).toEqual(['pages']))
  })

  it('a process died between marking and moving: no removed page is served, and the move is completed', async () => {
    const { pages, directory } = await openPages()
    await store(pages, 'a')
    const index = new PageIndex(placesIn(directory))
    index.tombstone()
    index.close()
    expect(pages.find(draft('a').key)).toEqual([])
    expect(await store(pages, 'b')).not.toBeNull()
  })

  it('another process takes a moment to move the pages: the store opens afterwards, without a warning', async () => {
    const { pages, directory, warnings } = await openPages()
    await store(pages, 'a')
    const { default: Database } = await import('better-sqlite3')
    const index = new PageIndex(placesIn(directory))
    index.tombstone()
    index.close()
    const mover = new Database(placesIn(directory).index)
    mover.exec('BEGIN IMMEDIATE')
    expect(pages.find(draft('a').key)).toEqual([])
    await pause(200)
    expect(pages.fault()).toMatchObject({ code: 'STORE_BUSY' })
    mover.exec('COMMIT')
    mover.close()
    await until(() => expect(pages.fault()).toBeNull())
    expect(await store(pages, 'b')).not.toBeNull()
    expect(warnings).toEqual([])
  })

  it('the next process to open the store completes an interrupted clear', async () => {
    const directory = await tempDir()
    const { pages } = await openPages({ directory })
    await store(pages, 'a')
    await pages.close()
    const index = new PageIndex(placesIn(directory))
    index.tombstone()
    index.close()
    const { pages: next, warnings } = await openPages({ directory })
    expect(next.find(draft('a').key)).toEqual([])
    expect(next.counters().products.count).toBe(0)
    expect(warnings).toEqual([])
  })

  it('clearing the application cache removes everything, counts the pages, and the daemon keeps working', async () => {
    const { pages, directory } = await openPages()
    const { mkdir, writeFile } = await import('node:fs/promises')
    await mkdir(`${directory}/twig/a`, { recursive: true })
    await writeFile(`${directory}/twig/a/b.php`, '')
    for (let n = 0; n < 7; n += 1) await store(pages, `p${n}`)
    const other = await startOther(directory)
    expect(await other.ask({ ask: 'clearApplicationCache' })).toBe(7)
    expect(pages.find(draft('p1').key)).toEqual([])
    expect(await store(pages, 'p1')).not.toBeNull()
    await until(async () => expect(await readdir(directory)).toEqual(['pages']))
    expect(pages.find(draft('p1').key)).toHaveLength(1)
  })

  it('clearing a missing application cache removes nothing', async () => {
    expect(await clearApplicationCache(`${await tempDir()}/var/cache/prod`)).toBe(0)
  })
})

it('while another process locks the store, reads work and a removal waits, then fails with STORE_BUSY', async () => {
  const { pages, directory } = await openPages({ patience: 300 })
  await store(pages, 'a')
  const { default: Database } = await import('better-sqlite3')
  const holder = new Database(placesIn(directory).index)
  holder.exec('BEGIN IMMEDIATE')
  expect(pages.find(draft('a').key)).toHaveLength(1)
  expect(await store(pages, 'b')).toBeNull()
  await expect(pages.remove({ kind: 'urls', urls: [draft('a').url] })).rejects.toMatchObject({
    code: 'STORE_BUSY',
    status: 503,
  })
  pages.recordHits([{ page: pages.find(draft('a').key)[0]!, hits: 1, ms: 1, usedAt: 0 }])
  const { pages: patient } = await openPages({ directory })
  const waiting = patient.remove({ kind: 'type', type: 'products' })
  await pause(20)
  holder.exec('COMMIT')
  holder.close()
  expect(await waiting).toBe(1)
})
