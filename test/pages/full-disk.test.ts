import { spawnSync } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { bodyOf, draft, openPages, store } from '../stores/pages.ts'

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
  test.each([['no bytes', 'size=1m'], ['no inodes', 'size=20m,nr_inodes=60']])('%s left: pages pass by, purges work, no partial file stays, and it recovers', async (_, size) => {
    const directory = (await smallDisk(size))!
    const { pages, warnings } = await openPages({ directory })
    const kept: string[] = []
    let refused = 0
    for (let n = 0; refused < 5 && n < 400; n += 1) {
      const page = await pages.put(draft(`p${n}`), Buffer.alloc(9_000, n), pages.fence())
      if (page === null) refused += 1
      else kept.push(`p${n}`)
    }
    expect(refused).toBe(5)
    expect(pages.unstored()).toBe(5)
    expect(warnings.length).toBeGreaterThan(0)
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
    expect(pages.find(draft(kept[0]!).key)).toHaveLength(1)
    expect(await pages.remove({ kind: 'tags', tags: [`product-${kept.at(-1)}`] })).toBe(1)
    const left = pages.counters().products.count
    expect(left).toBeGreaterThan(0)
    expect(await pages.remove({ kind: 'type', type: 'products' })).toBe(left)
    await expect.poll(async () => (await store(pages, 'a')) !== null, { timeout: 10_000 }).toBe(true)
    expect(await pages.readBody(pages.find(draft('a').key)[0]!)).toEqual(bodyOf('a'))
  })

  test('filled by somebody else to the last byte: a clear still clears', async () => {
    const directory = (await smallDisk('size=8m'))!
    const { pages } = await openPages({ directory })
    for (let n = 0; n < 40; n += 1) await pages.put(draft(`p${n}`), Buffer.alloc(9_000, n), pages.fence())
    await writeFile(`${directory}/ballast`, Buffer.alloc(16 << 20)).catch(() => undefined)
    expect(await pages.put(draft('late'), Buffer.alloc(9_000), pages.fence())).toBeNull()
    expect(await pages.remove({ kind: 'all' })).toBe(40)
    expect(pages.find(draft('p1').key)).toEqual([])
    await rm(`${directory}/ballast`)
    await expect.poll(async () => (await store(pages, 'a')) !== null, { timeout: 10_000 }).toBe(true)
  })

  test('read-only: pages pass by, a removal says why, and what was stored is there again afterwards', async () => {
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

if (!canMount) console.warn('The tests of full and read-only disks are left out: this user may not mount a small file system.')
describe.skipIf(!canMount)('a disk without room', onSmallDisks)

test('where a file has taken the place in which bodies are written, nothing is stored until the store has begun anew', async () => {
  const { pages, directory } = await openPages()
  await rm(placesIn(directory).temporary, { recursive: true })
  await writeFile(placesIn(directory).temporary, '')
  expect(await store(pages, 'a')).toBeNull()
  await expect.poll(async () => (await store(pages, 'a')) !== null, { timeout: 10_000 }).toBe(true)
})
