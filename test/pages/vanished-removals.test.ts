import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { draft, openPages, origin, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

/** Opens two stores whose files then vanish: one serves pages and has noticed, the other has read nothing. */
async function openWithoutFiles() {
  const { pages: serving, directory } = await openPages()
  const removals: string[] = []
  serving.onRemoved(({ kind }) => removals.push(kind))
  await store(serving, 'a')
  // Like the thread that removes pages: nothing is read from it.
  const { pages: removing } = await openPages({ directory })
  execFileSync('rm', ['-rf', directory])
  await until(() => {
    serving.poll()
    return removals.length > 0
  })
  return { serving, removing }
}

it.each([
  ['everything', { kind: 'all' as const }],
  ['a tag', { kind: 'tags' as const, tags: ['product-a'] }],
  ['a URL', { kind: 'urls' as const, urls: [`${origin}/a`] }],
])('a removal of %s reaches the pages that were stored since the files vanished', async (_, selection) => {
  const { serving, removing } = await openWithoutFiles()
  expect(await store(serving, 'a')).not.toBeNull()
  expect(await removing.remove(selection)).toBe(1)
  expect(serving.find(draft('a').key)).toEqual([])
})

it('removals together reach the pages that were stored since the files vanished', async () => {
  const { serving, removing } = await openWithoutFiles()
  expect(await store(serving, 'a')).not.toBeNull()
  const [removed] = await removing.removeTogether([{ selection: { kind: 'tags', tags: ['product-a'] } }])
  expect(removed).toMatchObject({ urls: [[expect.any(String)]] })
  expect(serving.find(draft('a').key)).toEqual([])
})
