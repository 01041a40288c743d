import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { openPages, store } from '../stores/pages.ts'

/** Pages with a tag each, and their URLs. */
async function storeTagged(pages: PageStore, tag: string, names: readonly string[]): Promise<string[]> {
  const stored = await Promise.all(names.map((name) => store(pages, name, { tags: [tag] })))
  return stored.map((page) => page!.url)
}

async function urlsOf(pages: PageStore, trace: number): Promise<string[]> {
  const urls: string[] = []
  for (let after = 0; ;) {
    const taken = (await pages.taken(trace, after, 2))!
    urls.push(...taken.map(({ url }) => url))
    if (taken.length < 2) return urls.toSorted()
    after = taken.at(-1)!.id
  }
}

function clearedIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith('.cleared-'))
}

const clears: [string, (pages: PageStore, directory: string) => Promise<number>][] = [
  ['the store', (pages) => pages.remove({ kind: 'all' }, { trace: 99 })],
  ['the store, unlogged', (pages) => pages.remove({ kind: 'all' })],
  ['the whole directory', (_, directory) => clearApplicationCache(directory, 99)],
  ['the whole directory, unlogged', (_, directory) => clearApplicationCache(directory)],
]

describe.each(clears)('after a clear of %s', (_, clear) => {
  it('the URLs of earlier removals are kept until all of them are released', async () => {
    const { pages, directory } = await openPages()
    const tagged = await storeTagged(pages, 't', ['a', 'b', 'c', 'd', 'e'])
    await storeTagged(pages, 'u', ['f', 'g', 'h'])
    const typed = (await store(pages, 'i', { tags: [], type: 'cms' }))!.url
    await pages.remove({ kind: 'tags', tags: ['t'] }, { trace: 1 })
    await pages.remove({ kind: 'tags', tags: ['u'] }, { trace: 2 })
    await pages.remove({ kind: 'type', type: 'cms' }, { trace: 3 })
    const left = await storeTagged(pages, 'v', ['a', 'j', 'k'])
    expect(await clear(pages, directory)).toBe(3)
    expect(await urlsOf(pages, 1)).toEqual(tagged)
    expect(await urlsOf(pages, 2)).toHaveLength(3)
    expect(await urlsOf(pages, 3)).toEqual([typed])
    expect(await urlsOf(pages, 4)).toEqual([])
    const traces = pages.unreleased(Infinity).toSorted((a, b) => a - b)
    expect(traces.slice(0, 3)).toEqual([1, 2, 3])
    if (traces.includes(99)) expect(await urlsOf(pages, 99)).toEqual(left)
    await pages.release([1])
    expect(clearedIn(directory)).toHaveLength(1)
    await pages.release(traces)
    expect(clearedIn(directory)).toEqual([])
    expect(pages.unreleased(Infinity)).toEqual([])
  })
})

it('the URLs of a removal that a clear interrupted are read from both indexes', async () => {
  const { pages } = await openPages()
  const before = await storeTagged(pages, 't', ['a', 'b', 'c'])
  await pages.remove({ kind: 'tags', tags: ['t'] }, { trace: 1 })
  await pages.remove({ kind: 'all' })
  const after = await storeTagged(pages, 't', ['d', 'e', 'f'])
  await pages.remove({ kind: 'tags', tags: ['t'] }, { trace: 1 })
  expect(await urlsOf(pages, 1)).toEqual([...before, ...after])
})

it('a clear without earlier removals keeps nothing', async () => {
  const { pages, directory } = await openPages()
  await storeTagged(pages, 't', ['a'])
  await pages.remove({ kind: 'tags', tags: ['t'] }, { trace: 1 })
  await pages.release([1])
  await pages.remove({ kind: 'all' })
  expect(clearedIn(directory)).toEqual([])
})

it('a removal whose index is locked is not at its end', async () => {
  const { pages, directory } = await openPages()
  await storeTagged(pages, 't', ['a'])
  await pages.remove({ kind: 'tags', tags: ['t'] }, { trace: 1 })
  await pages.remove({ kind: 'all' })
  await storeTagged(pages, 't', ['b'])
  const index = new Database(join(directory, clearedIn(directory)[0]!, 'index.sqlite'))
  index.pragma('locking_mode = EXCLUSIVE')
  const unlock = () => void (index.open && index.close())
  onTestFinished(unlock)
  index.exec('BEGIN EXCLUSIVE')
  expect(await pages.taken(1, 0, 10)).toBeNull()
  await pages.release([1])
  expect(clearedIn(directory)).toHaveLength(1)
  unlock()
  expect(await pages.taken(1, 0, 10)).toHaveLength(1)
})
