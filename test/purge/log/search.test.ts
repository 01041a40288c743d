import { describe, expect, it } from 'vitest'
import type { Invalidation, Target } from '../../../src/purge/invalidation.ts'
import { searchInvalidations, searchPurges, type Search } from '../../../src/purge/log/search.ts'
import { openPurges } from '../purges.ts'

const shop = 'http://shop.example'

function by(source: Invalidation['source'], actor: string | null, target: Target): Invalidation {
  return { targets: [target], soft: false, source, actor }
}

/** A log with a few purges of different sources, oldest first. */
async function openLog() {
  const { purging, records } = await openPurges()
  const invalidations = [
    by('cli', null, { scope: 'urls', urls: [`${shop}/de/Damen/schuhe`] }),
    by('api', 'erp-sync', { scope: 'tags', tags: ['product-100%', 'navigation'] }),
    by('purge-method', '2001:db8::17', { scope: 'urls', urls: [`${shop}/%E9%9D%B4`] }),
    by('api', 'erp-sync', { scope: 'type', type: 'listings' }),
    by('task', null, { scope: 'pattern', pattern: '^/sale/.*' }),
    by('cli', null, { scope: 'all' }),
  ]
  for (const invalidation of invalidations) await purging.invalidate(invalidation)
  const search = (text: string, change: Partial<Search> = {}): Search => ({
    text,
    before: null,
    most: 50,
    budget: Infinity,
    now: () => performance.now(),
    signal: new AbortController().signal,
    ...change,
  })
  return {
    purges: (text: string, change?: Partial<Search>) => searchPurges(records.db, search(text, change)),
    invalidations: (text: string, change?: Partial<Search>) => searchInvalidations(records.db, search(text, change)),
  }
}

/** Lists purges by what was purged. */
const keys = (items: readonly { url: string | null; tag: string | null; type: string | null; kind: string }[]) =>
  items.map(({ url, tag, type, kind }) => url ?? tag ?? type ?? kind)

describe('a search', () => {
  it.each([
    ['damen', [`${shop}/de/Damen/schuhe`]],
    ['DE/damen schuhe', [`${shop}/de/Damen/schuhe`]],
    ['damen herren', []],
    ['navi', ['navigation']],
    ['100%', ['product-100%']],
    ['_', []],
    ['erp-sync', ['listings', 'navigation', 'product-100%']],
    ['api nav', ['navigation']],
    ['2001:db8', [`${shop}/%E9%9D%B4`]],
    ['靴', [`${shop}/%E9%9D%B4`]],
    ['%e9%9d', [`${shop}/%E9%9D%B4`]],
    ['sale', ['^/sale/.*']],
    ['cli', ['all', `${shop}/de/Damen/schuhe`]],
    ["'; drop table purges; --", []],
    ['\ud800', []],
    ['dam\u0000 schuhe', [`${shop}/de/Damen/schuhe`]],
  ])('for %s finds purges by URL, tag, type, source and actor, newest first', async (text, found) => {
    const { purges } = await openLog()
    const { items, next, searchedTo } = await purges(text)
    expect([keys(items).toSorted(), next, searchedTo]).toEqual([found.toSorted(), null, null])
    expect(items.map(({ createdAt }) => createdAt)).toEqual(
      items
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .toReversed(),
    )
  })

  it('finds a tag as it is spelt, whatever its letters are', async () => {
    const { purging, records } = await openPurges()
    await purging.invalidate(by('api', null, { scope: 'tags', tags: ['Ärmel-ÉTÉ'] }))
    const search = { before: null, most: 50, budget: Infinity, now: () => 0, signal: new AbortController().signal }
    for (const text of ['Ärmel-ÉTÉ', 'ÄRMEL', 'ÉtÉ'])
      expect((await searchPurges(records.db, { ...search, text })).items).toHaveLength(1)
  })

  it('finds purges by their mode and by their deliveries, which a list shows too', async () => {
    const { purging, records } = await openPurges({ proxies: ['varnish-1'] })
    await purging.invalidate(by('api', null, { scope: 'tags', tags: ['kept'] }))
    await purging.invalidate({ ...by('api', null, { scope: 'tags', tags: ['stale'] }), soft: true })
    const search = { before: null, most: 50, budget: Infinity, now: () => 0, signal: new AbortController().signal }
    const find = async (text: string) => keys((await searchPurges(records.db, { ...search, text })).items)
    expect(await find('HARD')).toEqual(['kept'])
    expect(await find('soft')).toEqual(['stale'])
    expect(await find('Varnish-1 pend')).toEqual(['stale', 'kept'])
    expect(await find('varnish-2')).toEqual([])
  })

  it('names who caused a purge', async () => {
    const { purges } = await openLog()
    expect((await purges('listings')).items).toMatchObject([{ source: 'api', actor: 'erp-sync' }])
    expect((await purges('damen')).items).toMatchObject([{ source: 'cli', actor: null }])
  })

  it('finds invalidations by what they name, source and actor', async () => {
    const { invalidations } = await openLog()
    expect((await invalidations('erp')).items).toMatchObject([{ scope: 'type' }, { scope: 'tags', actor: 'erp-sync' }])
    expect((await invalidations('靴')).items).toMatchObject([{ source: 'purge-method' }])
    expect(await invalidations('navi erp')).toMatchObject({ items: [{ scope: 'tags' }], next: null })
    expect(await invalidations('nothing')).toEqual({ items: [], total: 0, next: null, searchedTo: null })
  })

  it('goes on where it stopped, without a gap or a repetition', async () => {
    const { purges } = await openLog()
    const all = keys((await purges('e')).items)
    const parts: string[] = []
    for (let before: number | null = null, count = 0; count < 20; count++) {
      const { items, next } = await purges('e', { before, most: 1 })
      parts.push(...keys(items))
      before = next
      if (next === null) break
    }
    expect(all.length).toBeGreaterThan(3)
    expect(parts).toEqual(all)
  })

  it('ends when its time is over or it is interrupted, and says how far it went', async () => {
    const { purges, invalidations } = await openLog()
    for (const change of [{ budget: 0 }, { signal: AbortSignal.abort() }]) {
      const stopped = await purges('damen', change)
      expect(stopped).toEqual({ items: [], total: 0, next: 8, searchedTo: null })
      expect(await invalidations('damen', change)).toMatchObject({ items: [], next: 7 })
      expect((await purges('damen', { before: stopped.next })).items).toHaveLength(1)
    }
    const { next, searchedTo } = await purges('cli', { most: 1 })
    expect([next, searchedTo]).toEqual([7, expect.stringMatching(/^\d{4}-/)])
    expect((await purges('cli', { before: 0 })).items).toEqual([])
  })
})
