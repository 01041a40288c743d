import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openPages as openIndex } from '../../src/pages/clear.ts'
import { PageIndex } from '../../src/pages/page-index.ts'
import type { Selection } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { RemovalLog } from '../../src/pages/removals.ts'
import { insertPage } from '../helpers/insert-page.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { draft, openPages, store } from '../stores/pages.ts'

it('asks for other processes once in a callback and the promises that follow it, and after each commit of its thread', async () => {
  const { pages, directory } = await openPages()
  const { pages: other } = await openPages({ directory })
  const asked = vi.spyOn(PageIndex.prototype, 'dataVersion')
  onTestFinished(() => asked.mockRestore())
  await nextTurn()
  // Timers of this and other indexes may have looked meanwhile.
  asked.mockClear()
  for (let n = 0; n < 20; n++) {
    pages.poll()
    pages.find('any')
    await Promise.resolve()
  }
  expect(asked).toHaveBeenCalledTimes(1)
  await nextTurn()
  asked.mockClear()
  pages.poll()
  expect(asked).toHaveBeenCalledTimes(1)
  await store(other, 'a')
  const before = asked.mock.calls.length
  expect(pages.find(draft('a').key)).toHaveLength(1)
  expect(asked.mock.calls.length).toBeGreaterThan(before)
})

it('reads as of its turn what is stored now without asking for other processes, but not after that', async () => {
  const { pages, directory } = await openPages()
  const page = await store(pages, 'a')
  const stranger = new Database(placesIn(directory).index)
  onTestFinished(() => void stranger.close())
  await nextTurn()
  pages.poll()
  expect(pages.find(draft('a').key)).toHaveLength(1)
  await new Promise<void>((resolve) => process.nextTick(resolve))
  const asked = vi.spyOn(PageIndex.prototype, 'dataVersion')
  onTestFinished(() => asked.mockRestore())
  expect(pages.asOfTurn(() => pages.readBodyNow(page!))).not.toBeNull()
  stranger.prepare('UPDATE stat SET epoch = epoch + 1').run()
  expect(pages.asOfTurn(() => pages.find(draft('a').key))).toEqual([])
  expect(asked).not.toHaveBeenCalled()
  pages.poll()
  expect(asked).toHaveBeenCalledTimes(1)
  pages.asOfTurn(() => pages.find(draft('a').key))
  pages.poll()
  expect(asked).toHaveBeenCalledTimes(1)
})

it('a removal is noticed at the next look when the log could not be read at the first one', async () => {
  const { pages, directory } = await openPages()
  const { pages: other } = await openPages({ directory })
  const removed: Selection[] = []
  pages.onRemoved((selection) => removed.push(selection))
  await store(other, 'a')
  await nextTurn()
  pages.poll()
  // The store may look by itself too, so that every look fails until the first one is over.
  const news = vi.spyOn(RemovalLog.prototype, 'news').mockImplementation(() => {
    throw Object.assign(new Error('The index is locked'), { code: 'SQLITE_BUSY' })
  })
  onTestFinished(() => news.mockRestore())
  await other.remove({ kind: 'tags', tags: ['product-a'] })
  await nextTurn()
  pages.poll()
  expect(news).toHaveBeenCalled()
  expect(removed).toEqual([])
  news.mockRestore()
  await nextTurn()
  pages.poll()
  expect(removed).toEqual([{ kind: 'tags', tags: ['product-a'] }])
})

it('tells the pages of others from those in its own files', async () => {
  const index = openIndex(placesIn(await tempDir()), () => {})
  onTestFinished(() => index.close())
  const first = index.reads.lastPage()
  const insert = (name: string, file: string) =>
    insertPage(index, draft(name), { file, fileSize: 1, at: 0, size: 1, digest: Buffer.alloc(32) })
  index.write(() => ['a', 'b', 'c'].map((name) => insert(name, name === 'c' ? 'large' : 'own')))
  const since = (files: string[]) =>
    index.reads.since(first, index.reads.lastPage(), files, 10).map(({ key }) => key.at(-1))
  expect(since(['own', 'large'])).toEqual([])
  expect(since(['own'])).toEqual(['c'])
  expect(since([])).toEqual(['a', 'b', 'c'])
  index.write(() => insert('d', 'other'))
  expect(since(['own', 'large'])).toEqual(['d'])
})
