import { spawnSync } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { automaticLimit, spaceOf } from '../../src/pages/room.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { bodyOf, clock, draft, openPages, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

function mount(...args: string[]): boolean {
  return spawnSync('mount', args).status === 0
}

/** Mounts a small file system; null when this user may not mount one. */
async function smallDisk(options: string): Promise<string | null> {
  const directory = await tempDir()
  if (!mount('-t', 'tmpfs', '-o', options, 'tmpfs', directory)) return null
  onTestFinished(() => void spawnSync('umount', ['-l', directory]))
  return directory
}

const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

function onSmallDisks(): void {
  it.each([
    ['no bytes', 'size=2m'],
    ['no inodes', 'size=20m,nr_inodes=400'],
  ])('%s left: evicts the least recently used pages, leaves no partial file, and still purges', async (_, size) => {
    const directory = (await smallDisk(size))!
    const time = clock()
    const { pages } = await openPages({ directory, maxSize: 1e9, now: time.now })
    for (let n = 0; n < 500; n += 1) {
      time.advance(1_000)
      await pages.put(draft(`p${n}`), Buffer.alloc(9_000, n), pages.fence())
    }
    expect(pages.unstored()).toBe(0)
    expect(pages.damaged()).toBe(0)
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
    expect(pages.find(draft('p0').key)).toEqual([])
    expect(await pages.readBody(pages.find(draft('p499').key)[0]!)).toEqual(Buffer.alloc(9_000, 499))
    expect(await pages.remove({ kind: 'tags', tags: ['product-p499'] })).toBe(1)
    const left = pages.counters().products.count
    expect(left).toBeGreaterThan(5)
    expect(await pages.remove({ kind: 'type', type: 'products' })).toBe(left)
  })

  it('a page larger than the space of a few evicted ones is stored eventually', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages } = await openPages({ directory, maxSize: 1e9 })
    for (let n = 0; n < 1500; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(4_000, n), pages.fence())
    await until(async () =>
      expect(await pages.put(draft('large'), Buffer.alloc(2_000_000), pages.fence())).toHaveProperty('id'),
    )
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('evicts pages until the floor for records is free again when another program fills the disk', async () => {
    const directory = (await smallDisk('size=20m'))!
    const { pages, warnings } = await openPages({ directory, maxSize: 1e9 })
    for (let n = 0; n < 200; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(40_000, n), pages.fence())
    expect(pages.counters().products.count).toBe(200)
    const { bytes } = await spaceOf(directory)
    await writeFile(`${directory}/ballast`, Buffer.alloc(bytes - 100_000))
    await until(async () =>
      expect((await spaceOf(directory)).bytes >= (await spaceOf(directory)).floorBytes).toBe(true),
    )
    expect(pages.counters().products.count).toBeGreaterThan(50)
    expect(warnings.join()).toContain('evicting the least recently used pages')
    await writeFile(`${directory}/record`, Buffer.alloc(500_000))
  })

  it('several stores on one full disk keep storing and agree on the pages', async () => {
    const directory = (await smallDisk('size=4m'))!
    const stores = await Promise.all([1, 2, 3].map(() => openPages({ directory, maxSize: 1e9 })))
    for (let n = 0; n < 100; n += 1)
      await Promise.all(
        stores.map(({ pages }, process) =>
          pages.put(draft(`p${process}-${n}`), Buffer.alloc(20_000, n), pages.fence()),
        ),
      )
    await until(async () => expect(await store(stores[0]!.pages, 'last')).not.toBeNull())
    for (const { pages } of stores)
      expect(await pages.readBody(pages.find(draft('last').key)[0]!)).toEqual(bodyOf('last'))
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('without a configured limit bodies take a tenth of the available space, also after a restart', async () => {
    const directory = (await smallDisk('size=20m'))!
    const { pages } = await openPages({ directory })
    for (let n = 0; n < 100; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(40_000, n), pages.fence())
    const { size } = pages.counters().products
    expect(size).toBeGreaterThan(1_200_000)
    expect(size).toBeLessThan(2_097_152)
    expect(await automaticLimit(directory, size)).toBeGreaterThan(1_200_000)
    expect(await automaticLimit(`${directory}/none`, 0)).toBe(10 * 1024 ** 3)
  })

  it('without a configured limit a store that is opened while the disk is full may take a hundredth of it', async () => {
    const directory = (await smallDisk('size=40m'))!
    const filler = join(directory, 'filler')
    await writeFile(filler, Buffer.alloc(42 * 1024 ** 2)).catch(() => {})
    expect((await spaceOf(directory)).bytes).toBeLessThan(65_536)
    expect(await automaticLimit(directory, 0)).toBe(Math.floor((40 * 1024 ** 2) / 100))
    await rm(filler)
    expect(await automaticLimit(directory, 0)).toBeGreaterThan(4_000_000)
  })

  it('evicts expired pages before the least recently used', async () => {
    const directory = (await smallDisk('size=3m'))!
    const time = clock()
    const { pages } = await openPages({ directory, maxSize: 1e9, now: time.now })
    await store(pages, 'old')
    time.advance(1_000)
    for (let n = 0; n < 20; n += 1)
      await pages.put(draft(`short${n}`, { deleteAt: time.now() + 10 }), Buffer.alloc(40_000), pages.fence())
    time.advance(1_000)
    const { bytes } = await spaceOf(directory)
    await writeFile(`${directory}/ballast`, Buffer.alloc(bytes))
    expect(await store(pages, 'new')).not.toBeNull()
    expect(pages.find(draft('old').key)).toHaveLength(1)
  })

  it('still stores and clears pages when another program has filled the disk completely', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages } = await openPages({ directory })
    for (let n = 0; n < 40; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(9_000, n), pages.fence())
    await writeFile(`${directory}/ballast`, Buffer.alloc(16 << 20)).catch(() => undefined)
    expect(await pages.put(draft('late'), Buffer.alloc(9_000), pages.fence())).toHaveProperty('id')
    const { count } = pages.counters().products
    expect(await pages.remove({ kind: 'all' })).toBe(count)
    expect(pages.find(draft('p1').key)).toEqual([])
    await rm(`${directory}/ballast`)
    await until(async () => expect(await store(pages, 'a')).not.toBeNull())
  })

  it('read-only: stores nothing, a removal fails with STORE_FULL, and the pages are back afterwards', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages: before } = await openPages({ directory })
    await store(before, 'a')
    await before.close()
    expect(mount('-o', 'remount,ro', directory)).toBe(true)
    const { pages, warnings } = await openPages({ directory, patience: 100 })
    expect(await store(pages, 'b')).toBeNull()
    await expect(pages.remove({ kind: 'all' })).rejects.toMatchObject({ code: 'STORE_FULL', status: 503 })
    await expect(clearApplicationCache(directory)).rejects.toMatchObject({ code: 'STORE_FULL', status: 503 })
    await until(() => expect(warnings.length).toBeGreaterThan(0))
    expect(mount('-o', 'remount,rw', directory)).toBe(true)
    await until(async () => expect(await store(pages, 'b')).not.toBeNull())
    expect(await pages.readBody(pages.find(draft('a').key)[0]!)).toEqual(bodyOf('a'))
  })
}

if (!canMount) console.warn('Skipping the tests of full and read-only disks: this user may not mount a file system.')
describe.skipIf(!canMount)('a full disk', onSmallDisks)

it('recreates the store when a file replaces the directory of temporary files', async () => {
  const { pages, directory } = await openPages()
  await rm(placesIn(directory).temporary, { recursive: true })
  await writeFile(placesIn(directory).temporary, '')
  expect(await store(pages, 'a')).toBeNull()
  await until(async () => expect(await store(pages, 'a')).not.toBeNull())
})
