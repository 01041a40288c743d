import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import zlib from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PageIndex } from '../../src/pages/page-index.ts'
import type { Page } from '../../src/pages/page.ts'
import type { PageStore, Rejection, Selection } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { accepted, bodyOf, draft, openPages, origin, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'
import { lock } from './lock.ts'

const megabyte = 2 ** 20

const openWriter = async (directory?: string) =>
  openPages({ writer: true, ...(directory !== undefined && { directory }) })

const take = (pages: PageStore, name: string, body = bodyOf(name)) => pages.take(draft(name), body, pages.fence())

/** The writer threads of this process, as they start. */
function watchWorkers(): Worker[] {
  const workers: Worker[] = []
  const add = (worker: Worker) => void workers.push(worker)
  process.on('worker', add)
  onTestFinished(() => void process.off('worker', add))
  return workers
}

describe('a page that waits to be stored', () => {
  it('is found at once, and by other processes once it is stored', async () => {
    const { pages, directory } = await openWriter()
    const { pages: other } = await openPages({ directory })
    const { release } = lock(directory)
    const page = accepted(await take(pages, 'a'))
    expect(page.id).toBeLessThan(0)
    expect(pages.find(draft('a').key)).toEqual([page])
    expect(await pages.readBody(page)).toEqual(bodyOf('a'))
    expect(pages.waiting()).toMatchObject({ pages: 1 })
    expect(other.find(draft('a').key)).toEqual([])
    release()
    await pages.settled(page)
    expect(page.id).toBeGreaterThan(0)
    expect(pages.waiting()).toEqual({ pages: 0, bytes: 0 })
    for (const each of [pages, other]) {
      expect(each.find(draft('a').key)).toMatchObject([{ id: page.id }])
      expect(await each.readBody(page)).toEqual(bodyOf('a'))
    }
  })

  it('counts as a page that an invalidation would remove', async () => {
    const { pages, directory } = await openWriter()
    const { release } = lock(directory)
    const page = accepted(await take(pages, 'a'))
    expect(await pages.count({ kind: 'urls', urls: [page.url] })).toBe(1)
    expect(await pages.count({ kind: 'urls', urls: [`${page.url}other`] })).toBe(0)
    release()
    await pages.settled(page)
    expect(await pages.count({ kind: 'urls', urls: [page.url] })).toBe(1)
  })

  it('stays in memory when it is stored, unlike pages that another process stores', async () => {
    const { pages, directory } = await openWriter()
    const { pages: other } = await openPages({ directory })
    const renewed: string[] = []
    pages.onRenewed((keys) => renewed.push(...keys))
    for (let n = 0; n < 200; n += 1) {
      await take(pages, `p${n}`)
      if (n % 7 === 0) await pages.settled({ kind: 'all' })
      pages.poll()
    }
    await pages.settled({ kind: 'all' })
    await store(other, 'b')
    pages.poll()
    expect(renewed).toEqual([draft('b').key])
  })

  it.each<[string, Selection]>([
    ['everything', { kind: 'all' }],
    ['its type', { kind: 'type', type: 'products' }],
    ['its tag', { kind: 'tags', tags: ['product-a'] }],
    ['its URL', { kind: 'urls', urls: [`${origin}/a`] }],
  ])('is gone for ever when another process removes %s meanwhile', async (_, selection) => {
    const { pages, directory } = await openWriter()
    const dropped: string[] = []
    pages.onRenewed((keys) => dropped.push(...keys))
    await store(pages, 'before')
    const index = new PageIndex(placesIn(directory))
    onTestFinished(() => index.close())
    const { key } = draft('a')
    // The writer waits for the lock that the removal holds.
    const taking = index.write(() => {
      const taken = take(pages, 'a')
      expect(pages.find(key)).toHaveLength(1)
      index.log.append(selection, 0)
      return taken
    })
    // The store looks for removals once per uninterrupted run of code.
    await Promise.resolve()
    expect(pages.find(key)).toEqual([])
    const page = accepted(await taking)
    expect(await pages.readBody(page)).toBeNull()
    await pages.settled(page)
    expect(page.id).toBeLessThan(0)
    expect(pages.find(key)).toEqual([])
    expect(dropped).toEqual([key])
    expect(pages.unstored()).toBe(0)
    expect(await store(pages, 'a')).not.toBeNull()
  })

  it('leaves with its own fetch: a later fetch of the same page is stored', async () => {
    const { pages, directory } = await openWriter()
    const { release } = lock(directory)
    const [old, newer] = [await take(pages, 'a'), await take(pages, 'a', Buffer.from('newer'))]
    expect(pages.find(draft('a').key)).toEqual([newer, old])
    release()
    await pages.settled({ kind: 'all' })
    expect(await pages.readBody(pages.find(draft('a').key)[0]!)).toEqual(Buffer.from('newer'))
    expect(pages.counters().products.count).toBe(1)
  })

  it('is stored by close', async () => {
    const { pages, directory } = await openWriter()
    const { release } = lock(directory)
    for (let n = 0; n < 300; n += 1) await take(pages, `p${n}`)
    expect(pages.waiting().pages).toBe(300)
    release()
    await pages.close()
    const { pages: next } = await openPages({ directory })
    expect(next.counters().products.count).toBe(300)
  })

  it('counts its hits once it is stored, and can be revalidated', async () => {
    const { pages, directory } = await openWriter()
    const { release } = lock(directory)
    const page = accepted(await take(pages, 'a'))
    pages.recordHits([{ page, hits: 3, ms: 6, usedAt: 5 }])
    const freshened = pages.freshen(page, { ...draft('a'), lifetime: 99 }, pages.fence())
    release()
    expect(await freshened).toMatchObject({ id: page.id, lifetime: 99 })
    await until(() => pages.find(draft('a').key)[0]!.hits === 3)
  })
})

describe('the queue', () => {
  it('is bounded in bytes: beyond them a page is not stored, and only patient callers wait', async () => {
    const { pages, directory } = await openWriter()
    const { release } = lock(directory)
    let taken = 0
    let last: Page | Rejection
    while (typeof (last = await take(pages, `p${taken}`, Buffer.alloc(megabyte))) !== 'string') taken += 1
    expect(taken).toBe(8)
    expect(last).toBe('behind')
    expect(await pages.put(draft('impatient'), bodyOf('impatient'), pages.fence(), false)).toBe('behind')
    expect(pages.unstored()).toBe(2)
    expect(pages.find(draft(`p${taken}`).key)).toEqual([])
    const patient = store(pages, 'patient')
    release()
    expect(await patient).not.toBeNull()
    expect(pages.counters().products.count).toBe(taken + 1)
    expect(await take(pages, 'after')).toHaveProperty('id')
  })

  it('accepts a page that is larger than the bound while no other page waits', async () => {
    const { pages } = await openWriter()
    const large = Buffer.alloc(17 * megabyte)
    expect(accepted(await pages.put(draft('large'), large, pages.fence(), false)).id).toBeGreaterThan(0)
  })

  it('outlives the death of the writer: the pages in flight are reported and stored again', async () => {
    const workers = watchWorkers()
    const { pages, directory, warnings } = await openWriter()
    await store(pages, 'before')
    const { release } = lock(directory)
    // More than fit into one transaction, so that a full one is sent at once.
    const taken = (await Promise.all(Array.from({ length: 300 }, (_, n) => take(pages, `p${n}`)))).map(accepted)
    await until(() => expect(workers).toHaveLength(1))
    // The group is sent in the next turn.
    await nextTurn()
    await workers[0]!.terminate()
    release()
    await pages.settled({ kind: 'all' })
    expect(workers).toHaveLength(2)
    expect(warnings.join()).toMatch(/writer thread of the page store has ended.*128 pages wait to be stored again/)
    for (const page of taken) expect(await pages.readBody(page)).not.toBeNull()
    expect(pages.counters().products.count).toBe(301)
    expect(pages.unstored()).toBe(0)
  })

  it('gives up pages over which the writer dies twice', async () => {
    const workers = watchWorkers()
    const { pages, directory } = await openWriter()
    await store(pages, 'before')
    const { release } = lock(directory)
    const page = accepted(await take(pages, 'a'))
    for (const nth of [0, 1]) {
      await until(() => expect(workers).toHaveLength(nth + 1))
      if (nth === 1) await once(workers[nth]!, 'message')
      await workers[nth]!.terminate()
    }
    await pages.settled(page)
    expect(page.id).toBeLessThan(0)
    expect(pages.find(draft('a').key)).toEqual([])
    expect(pages.unstored()).toBe(1)
    release()
    expect(await store(pages, 'a')).not.toBeNull()
  })
})

describe('thorough compression', () => {
  const html = Buffer.from(Array.from({ length: 500 }, (_, n) => `<p>${n * 7919}</p>`).join(''))
  const cheap = zlib.zstdCompressSync(html)
  const changes = { encoding: 'zstd', originalSize: html.length } as const

  it('follows the second visit, keeps the page and its hits, and never mixes the codings', async () => {
    const { pages, directory } = await openWriter()
    const { pages: other } = await openPages({ directory })
    const page = accepted(await pages.take(draft('a', changes), cheap, pages.fence()))
    await pages.settled(page)
    const [seen] = other.find(draft('a').key)
    pages.recordHits([{ page, hits: 2, ms: 1, usedAt: 1, recode: true }])
    await until(() => expect(pages.find(draft('a').key)[0]!.encoding).toBe('br'))
    const [recoded] = pages.find(draft('a').key)
    expect(recoded).toMatchObject({ id: page.id, hits: 2, originalSize: html.length })
    expect(recoded!.size).toBeLessThan(cheap.length)
    expect(zlib.brotliDecompressSync((await pages.readBody(recoded!))!)).toEqual(html)
    expect(pages.counters().products).toMatchObject({ count: 1, size: recoded!.size, hits: 2 })
    expect(await other.readBody(seen!)).toBeNull()
    expect(other.damaged() + pages.damaged()).toBe(0)
    expect(await pages.remove({ kind: 'tags', tags: ['product-a'] })).toBe(1)
  })

  it.each([
    ['that was removed', async (pages: PageStore) => void (await pages.remove({ kind: 'all' })), {}, true],
    ['that may not be transformed', async () => {}, { headers: [['Cache-Control', 'max-age=60, no-transform']] }, true],
    ['of visitors who accept no brotli', async () => {}, {}, false],
  ] as const)('leaves a page %s alone', async (_, before, more, recode) => {
    const { pages } = await openWriter()
    const page = accepted(await pages.put({ ...draft('a', changes), ...more }, cheap, pages.fence()))
    await before(pages)
    pages.recordHits([{ page, hits: 2, ms: 1, usedAt: 1, recode }])
    const next = accepted(await pages.put(draft('b', changes), cheap, pages.fence()))
    pages.recordHits([{ page: next, hits: 1, ms: 1, usedAt: 1, recode: true }])
    await until(() => expect(pages.find(draft('b').key)[0]!.encoding).toBe('br'))
    expect(pages.find(draft('a').key).map(({ encoding }) => encoding)).not.toContain('br')
  })
})

const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

describe.skipIf(!canMount)('a full disk', () => {
  const mounted = async (options: string) => {
    const directory = await tempDir()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]).status !== 0) throw new Error('mount')
    onTestFinished(() => void spawnSync('umount', ['-l', directory]))
    return directory
  }

  it('makes the writer evict pages', async () => {
    const { pages } = await openWriter(await mounted('size=2m'))
    for (let n = 0; n < 400; n += 1) await take(pages, `p${n}`, Buffer.alloc(9_000, n))
    await pages.settled({ kind: 'all' })
    // Half of them fit. A page for which the evictions come too late is given up, but a later one is stored.
    expect(pages.counters().products.count).toBeLessThan(233)
    await until(
      async () => typeof (await pages.put(draft('late'), Buffer.alloc(9_000, 'late'), pages.fence())) !== 'string',
    )
    expect(await pages.readBody(pages.find(draft('late').key)[0]!)).toEqual(Buffer.alloc(9_000, 'late'))
    expect(pages.damaged()).toBe(0)
  })
})

it('a page that cannot be written is served while it waits, and leaves memory when that fails', async () => {
  const { pages, directory } = await openWriter()
  const dropped: string[] = []
  pages.onRenewed((keys) => dropped.push(...keys))
  await store(pages, 'before')
  await rm(placesIn(directory).temporary, { recursive: true })
  await writeFile(placesIn(directory).temporary, '')
  const page = accepted(await take(pages, 'a'))
  expect(pages.find(draft('a').key)).toEqual([page])
  await pages.settled(page)
  expect(page.id).toBeLessThan(0)
  expect(pages.find(draft('a').key)).toEqual([])
  expect(dropped).toContain(draft('a').key)
  await until(async () => (await store(pages, 'a')) !== null)
})
