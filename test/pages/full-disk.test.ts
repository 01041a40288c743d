import { spawnSync } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { automaticLimit, spaceOf } from '../../src/pages/room.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { bodyOf, clock, draft, openPages, store } from '../stores/pages.ts'

function mount(...args: string[]): boolean {
  return spawnSync('mount', args).status === 0
}

/** A file system of its own of this size; null where this user may not mount one. */
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
  ])('%s left: the least recently used pages make room, no partial file stays, and purges work', async (_, size) => {
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

  it('a page that is larger than what a few others make room for is stored after a while', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages } = await openPages({ directory, maxSize: 1e9 })
    for (let n = 0; n < 1500; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(4_000, n), pages.fence())
    await expect
      .poll(async () => (await pages.put(draft('large'), Buffer.alloc(2_000_000), pages.fence())) !== null, {
        timeout: 10_000,
      })
      .toBe(true)
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('another program fills the disk: pages give way until the floor for records is free again', async () => {
    const directory = (await smallDisk('size=20m'))!
    const { pages, warnings } = await openPages({ directory, maxSize: 1e9 })
    for (let n = 0; n < 200; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(40_000, n), pages.fence())
    expect(pages.counters().products.count).toBe(200)
    const { bytes } = await spaceOf(directory)
    await writeFile(`${directory}/ballast`, Buffer.alloc(bytes - 100_000))
    await expect
      .poll(async () => (await spaceOf(directory)).bytes >= (await spaceOf(directory)).floorBytes, { timeout: 10_000 })
      .toBe(true)
    expect(pages.counters().products.count).toBeGreaterThan(50)
    expect(warnings.join()).toContain('least recently used pages are evicted')
    await writeFile(`${directory}/record`, Buffer.alloc(500_000))
  })

  it('several stores on one full disk go on storing, and agree on what there is', async () => {
    const directory = (await smallDisk('size=4m'))!
    const stores = await Promise.all([1, 2, 3].map(() => openPages({ directory, maxSize: 1e9 })))
    for (let n = 0; n < 100; n += 1)
      await Promise.all(
        stores.map(({ pages }, process) =>
          pages.put(draft(`p${process}-${n}`), Buffer.alloc(20_000, n), pages.fence()),
        ),
      )
    await expect.poll(() => store(stores[0]!.pages, 'last'), { timeout: 10_000 }).not.toBeNull()
    for (const { pages } of stores)
      expect(await pages.readBody(pages.find(draft('last').key)[0]!)).toEqual(bodyOf('last'))
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('without a configured limit bodies take a tenth of what is there for them, also after a restart', async () => {
    const directory = (await smallDisk('size=20m'))!
    const { pages } = await openPages({ directory })
    for (let n = 0; n < 100; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(40_000, n), pages.fence())
    const { size } = pages.counters().products
    expect(size).toBeGreaterThan(1_200_000)
    expect(size).toBeLessThan(2_097_152)
    expect(await automaticLimit(directory, size)).toBeGreaterThan(1_200_000)
    expect(await automaticLimit(`${directory}/none`, 0)).toBe(10 * 1024 ** 3)
  })

  it('expired pages go before those that are used least', async () => {
    const directory = (await smallDisk('size=2m'))!
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

  it('filled by another program to the last byte: a page still finds room, and a clear clears', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages } = await openPages({ directory })
    for (let n = 0; n < 40; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(9_000, n), pages.fence())
    await writeFile(`${directory}/ballast`, Buffer.alloc(16 << 20)).catch(() => undefined)
    expect(await pages.put(draft('late'), Buffer.alloc(9_000), pages.fence())).not.toBeNull()
    const { count } = pages.counters().products
    expect(await pages.remove({ kind: 'all' })).toBe(count)
    expect(pages.find(draft('p1').key)).toEqual([])
    await rm(`${directory}/ballast`)
    await expect.poll(async () => (await store(pages, 'a')) !== null, { timeout: 10_000 }).toBe(true)
  })

  it('read-only: pages pass by, a removal says why, and what was stored is there again afterwards', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages: before } = await openPages({ directory })
    await store(before, 'a')
    await before.close()
    expect(mount('-o', 'remount,ro', directory)).toBe(true)
    const { pages, warnings } = await openPages({ directory, patience: 100 })
    expect(await store(pages, 'b')).toBeNull()
    await expect(pages.remove({ kind: 'all' })).rejects.toMatchObject({ code: 'STORE_FULL', status: 503 })
    await expect(clearApplicationCache(directory)).rejects.toMatchObject({ code: 'STORE_FULL', status: 503 })
    expect(warnings.length).toBeGreaterThan(0)
    expect(mount('-o', 'remount,rw', directory)).toBe(true)
    await expect.poll(async () => (await store(pages, 'b')) !== null, { timeout: 10_000 }).toBe(true)
    expect(await pages.readBody(pages.find(draft('a').key)[0]!)).toEqual(bodyOf('a'))
  })
}

if (!canMount)
  console.warn('The tests of full and read-only disks are left out: this user may not mount a small file system.')
describe.skipIf(!canMount)('a disk without room', onSmallDisks)

it('where a file has taken the place in which bodies are written, nothing is stored until the store has begun anew', async () => {
  const { pages, directory } = await openPages()
  await rm(placesIn(directory).temporary, { recursive: true })
  await writeFile(placesIn(directory).temporary, '')
  expect(await store(pages, 'a')).toBeNull()
  await expect.poll(async () => (await store(pages, 'a')) !== null, { timeout: 10_000 }).toBe(true)
})
