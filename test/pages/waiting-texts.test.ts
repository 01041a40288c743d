import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import type { PageDraft } from '../../src/pages/page.ts'
import { placesIn } from '../../src/pages/places.ts'
import { accepted, bodyOf, draft, openPages } from '../stores/pages.ts'
import { lock } from './lock.ts'

const megabyte = 2 ** 20

it('stores a page with its headers and tags in any script, as text', async () => {
  const { pages, directory } = await openPages({ writer: true })
  const page = { tags: ['größe', '😀'], headers: [['x-name', 'Ä "\u2028"\n€']] } satisfies Partial<PageDraft>
  await pages.settled(accepted(await pages.take(draft('a', page), bodyOf('a'), pages.fence())))
  expect((await openPages({ directory })).pages.find(draft('a').key)).toMatchObject([page])
  const index = new Database(placesIn(directory).index, { readonly: true })
  expect(index.prepare('SELECT typeof(record) AS type FROM page').all()).toEqual([{ type: 'text' }])
  index.close()
})

it('counts the headers of waiting pages too', async () => {
  const { pages, directory } = await openPages({ writer: true })
  const { release } = lock(directory)
  const headers: PageDraft['headers'] = [['x-long', 'x'.repeat(megabyte / 4)]]
  let taken = 0
  while (typeof (await pages.take(draft(`p${taken}`, { headers }), bodyOf('p'), pages.fence())) !== 'string') taken += 1
  expect(taken).toBe(32)
  release()
  await pages.settled({ kind: 'all' })
  expect(pages.waiting()).toEqual({ pages: 0, bytes: 0 })
  expect(pages.counters().products.count).toBe(taken)
})
