import { describe, expect, it, onTestFinished } from 'vitest'
import { openPages } from '../../stores/pages.ts'
import type { Selection } from '../../../src/pages/page-store.ts'
import { until } from '../../helpers/until.ts'
import type { Reply } from '../scripted-origin.ts'
import { shopUrl } from '../site.ts'
import { include, lasting, lookupOf, openEsiShop, template } from './shop.ts'

async function open(options: { memory?: number; writer?: boolean } = {}) {
  const { writer = false, ...changes } = options
  const shop = await openEsiShop(changes, { writer })
  onTestFinished(() => shop.close())
  shop.page('/', template(`${include('/_esi/menu')}|${include('/_esi/foot')}`, { xkey: 'home' }))
  shop.page('/_esi/menu', lasting('menu 1', { xkey: 'menu', 'X-Page': 'buybox' }))
  shop.page('/_esi/foot', lasting('foot', { xkey: 'foot' }))
  return shop
}

const selections: [string, Selection, string[]][] = [
  ["a fragment's tag", { kind: 'tags', tags: ['menu'] }, ['/_esi/menu']],
  ["a fragment's URL", { kind: 'urls', urls: [`${shopUrl}/_esi/menu`] }, ['/_esi/menu']],
  ["the page's tag", { kind: 'tags', tags: ['home'] }, ['/']],
  ["the page's URL", { kind: 'urls', urls: [`${shopUrl}/`] }, ['/']],
  ['a type', { kind: 'type', type: 'cms' }, ['/', '/_esi/foot', '/_esi/menu']],
  ['everything', { kind: 'all' }, ['/', '/_esi/foot', '/_esi/menu']],
  ['another tag', { kind: 'tags', tags: ['other'] }, []],
]

describe.each([
  ['memory', {}],
  ['disk', { memory: 0 }],
  ['a writer thread', { writer: true }],
])('with pages from %s, an assembled page', (_, options) => {
  it.each(selections)('is made again after a removal of %s', async (_name, selection, again) => {
    const shop = await open(options)
    await shop.visit('/')
    await shop.visit('/')
    const before = shop.origin.requests.length
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    await shop.store.remove(selection)
    const expected = again.includes('/_esi/menu') ? 'menu 2|foot' : 'menu 1|foot'
    expect((await shop.visit('/')).text).toBe(expected)
    expect((await shop.visit('/')).text).toBe(expected)
    expect(
      shop.origin.requests
        .slice(before)
        .map(({ target }) => target)
        .sort(),
    ).toEqual(again)
  })

  it('is made again after a removal by another process', async () => {
    const shop = await open(options)
    await shop.visit('/')
    await until(async () => expect(shop.store.waiting().pages).toBe(0))
    const { pages: other } = await openPages({ directory: shop.directory, now: shop.now })
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    await other.remove({ kind: 'tags', tags: ['menu'] })
    expect((await shop.visit('/')).text).toBe('menu 2|foot')
    expect(shop.asked('/')).toBe(1)
  })

  it('with a soft purged fragment gets a new one', async () => {
    const shop = await open(options)
    await shop.visit('/')
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    await shop.store.remove({ kind: 'tags', tags: ['menu'] }, { soft: true })
    shop.wait(1)
    expect((await shop.visit('/')).text).toBe('menu 2|foot')
    expect(shop.asked('/')).toBe(1)
  })

  it('is not kept when a part of it is purged while it waits for another', async () => {
    const shop = await open(options)
    let answer: ((reply: Reply) => void) | null = null
    shop.page('/_esi/foot', () => new Promise<Reply>((resolve) => (answer = resolve)))
    const visit = shop.visit('/')
    await until(() => expect(answer).not.toBeNull())
    await until(() =>
      expect(shop.store.findByUrl(`${shopUrl}/_esi/menu`).length + shop.store.waiting().pages).toBeGreaterThan(0),
    )
    await until(async () => expect((await shop.visit('/_esi/menu')).field('cache-status')).toContain('hit'))
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    await shop.store.remove({ kind: 'tags', tags: ['menu'] })
    answer!(lasting('foot', { xkey: 'foot' }))
    await visit
    for (let visits = 0; visits < 3; visits++) expect((await shop.visit('/')).text).toBe('menu 2|foot')
    expect(shop.asked('/')).toBe(1)
  })

  it.each([
    ['a fragment', '/_esi/menu', 'menu 2|foot'],
    ['its template', '/', 'new menu 1'],
  ])('is made again of %s that was fetched again while it was fresh', async (_name, target, expected) => {
    const shop = await open(options)
    await shop.visit('/')
    await shop.visit('/')
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    shop.page('/', template(`new ${include('/_esi/menu')}`))
    shop.wait(1)
    await shop.cache.warm(lookupOf(shop, target), new AbortController().signal)
    expect((await shop.visit('/')).text).toBe(expected)
  })

  it.each([
    ['', { Vary: 'Accept-Language' }],
    ['', { Vary: 'Foo' }],
    ['Foo', {}],
    ['Foo', { Vary: 'Foo, Accept-Language' }],
  ])('is made again of a fragment with Vary: %s that was renewed with %o', async (before, fields) => {
    const shop = await open(options)
    shop.page('/_esi/menu', lasting('menu 1', before === '' ? {} : { Vary: before }))
    const visits = { fields: { 'Accept-Language': 'de', Foo: 'bar' } }
    for (let round = 0; round < 2; round++) expect((await shop.visit('/', visits)).text).toBe('menu 1|foot')
    shop.page('/_esi/menu', lasting('menu 2', fields))
    shop.wait(1)
    await shop.cache.warm(lookupOf(shop, '/_esi/menu', visits.fields), new AbortController().signal)
    expect((await shop.visit('/', visits)).text).toBe('menu 2|foot')
    expect(shop.asked('/')).toBe(1)
  })

  it('is not kept with a fragment that was renewed while it waited for another', async () => {
    const shop = await open(options)
    let answer: ((reply: Reply) => void) | null = null
    shop.page('/_esi/foot', () => new Promise<Reply>((resolve) => (answer = resolve)))
    const visit = shop.visit('/')
    await until(() => expect(answer).not.toBeNull())
    await until(async () => expect((await shop.visit('/_esi/menu')).field('cache-status')).toContain('hit'))
    shop.page('/_esi/menu', lasting('menu 2', { xkey: 'menu' }))
    shop.wait(1)
    await shop.cache.warm(lookupOf(shop, '/_esi/menu'), new AbortController().signal)
    answer!(lasting('foot', { xkey: 'foot' }))
    await visit
    for (let visits = 0; visits < 2; visits++) expect((await shop.visit('/')).text).toBe('menu 2|foot')
    expect(shop.asked('/')).toBe(1)
  })

  it('with a fragment that says no-cache has it validated at each visit', async () => {
    const shop = await open(options)
    let version = 1
    shop.page('/_esi/menu', ({ fields }) =>
      fields.get('if-none-match') === `"${version}"`
        ? { status: 304 }
        : lasting(`menu ${version}`, { 'Cache-Control': 'public, no-cache', ETag: `"${version}"` }),
    )
    for (const expected of ['menu 1', 'menu 1', 'menu 2', 'menu 2']) {
      version = Number(expected.at(-1))
      const answer = await shop.visit('/')
      expect(answer.text).toBe(`${expected}|foot`)
      expect(answer.field('cache-control')).toContain('no-cache')
    }
    expect([shop.asked('/'), shop.asked('/_esi/menu'), shop.asked('/_esi/foot')]).toEqual([1, 4, 1])
  })

  it('takes over a fragment that was renewed by itself', async () => {
    const shop = await open(options)
    shop.page('/_esi/menu', lasting('menu 1', { 'Cache-Control': 'public, s-maxage=60', ETag: '"1"' }))
    await shop.visit('/')
    await until(() => shop.store.waiting().pages === 0)
    shop.wait(61)
    shop.page('/_esi/menu', ({ fields }) => (fields.get('if-none-match') === '"1"' ? { status: 304 } : { status: 500 }))
    expect((await shop.visit('/')).text).toBe('menu 1|foot')
    expect((await shop.visit('/')).field('cache-status')).toContain('ttl=60')
    expect([shop.asked('/'), shop.asked('/_esi/menu'), shop.asked('/_esi/foot')]).toEqual([1, 2, 1])
  })
})

it('fifty visitors of a cold page cost one request for it and for each fragment', async () => {
  const shop = await open({ writer: true })
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, number) =>
      shop.visit('/', { fields: { 'Accept-Encoding': ['gzip', 'br', 'zstd', 'identity'][number % 4]! } }),
    ),
  )
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect(shop.origin.requests.map(({ target }) => target).sort()).toEqual(['/', '/_esi/foot', '/_esi/menu'])
})

it('each variant of a fragment is in the pages of its visitors', async () => {
  const shop = await openEsiShop({ variants: { cookies: ['sw-currency'], headers: [], freeCookies: ['sw-currency'] } })
  onTestFinished(() => shop.close())
  shop.page('/', template(`price ${include('/_esi/price')} ${include('/_esi/hello')}`))
  shop.page('/_esi/price', ({ fields }) => lasting(/currency=(\w+)/.exec(fields.get('cookie') ?? '')?.[1] ?? 'none'))
  shop.page('/_esi/hello', ({ fields }) => lasting(fields.get('accept-language') ?? '-', { Vary: 'Accept-Language' }))
  for (let round = 0; round < 3; round++) {
    for (const currency of ['EUR', 'USD']) {
      for (const language of ['de', 'en']) {
        const answer = await shop.visit('/', {
          fields: { Cookie: `sw-currency=${currency}`, 'Accept-Language': language },
        })
        expect(answer.text).toBe(`price ${currency} ${language}`)
        expect(answer.field('vary')).toBe('accept-language')
        expect(answer.hot).toBe(round > 0)
      }
    }
  }
  expect([shop.asked('/'), shop.asked('/_esi/price'), shop.asked('/_esi/hello')]).toEqual([2, 2, 4])
})

it.each([
  ['has no language', 'en', undefined],
  ['has another language', 'en', '*'],
  ['is chosen by the first of several', undefined, '*'],
])('a page is not chosen by its language where a fragment %s', async (_, language, ofFragment) => {
  const shop = await openEsiShop()
  onTestFinished(() => shop.close())
  const languageOf = (value: string | undefined) => (value === undefined ? {} : { 'Content-Language': value })
  shop.page('/', template(`bye ${include('/_esi/bye')} ${include('/_esi/hello')}`, languageOf(language)))
  shop.page('/_esi/hello', ({ fields }) => {
    const [wanted = '-'] = (fields.get('accept-language') ?? '').split(',')
    return lasting(wanted, { Vary: 'Accept-Language', ...languageOf(ofFragment && wanted) })
  })
  shop.page('/_esi/bye', ({ fields }) => lasting(fields.get('accept-language') ?? '-', { Vary: 'Accept-Language' }))
  for (const languages of ['fr', 'en,fr;q=0.5', 'en', 'fr', 'en,fr;q=0.5', 'en'])
    expect((await shop.visit('/', { fields: { 'Accept-Language': languages } })).text).toBe(
      `bye ${languages} ${languages.split(',')[0]}`,
    )
})

it('the fragments of an asset do not depend on cookies', async () => {
  const shop = await openEsiShop({
    variants: { cookies: ['sw-currency'], headers: [], freeCookies: ['sw-currency'] },
    assets: ['/media'],
  })
  onTestFinished(() => shop.close())
  shop.page('/media/a', template(`price ${include('/_esi/price')}`))
  shop.page('/_esi/price', ({ fields }) => lasting(/currency=(\w+)/.exec(fields.get('cookie') ?? '')?.[1] ?? 'none'))
  for (const fields of [{ Cookie: 'sw-currency=EUR' }, { Cookie: 'sw-currency=USD' }, {}])
    expect((await shop.visit('/media/a', { fields })).text).toBe('price none')
  shop.page('/media/b', template(include('/_esi/mine')))
  shop.page('/_esi/mine', { fields: { 'Set-Cookie': 'session=new', 'Cache-Control': 'private' }, body: 'mine' })
  const own = await shop.visit('/media/b', { fields: { Cookie: 'session=old' } })
  expect([own.text, own.field('set-cookie')]).toEqual(['mine', null])
})

it('the state of a visitor that a fragment excludes gets an answer of its own', async () => {
  const shop = await open()
  shop.page('/_esi/menu', ({ fields }) =>
    lasting(fields.get('cookie')?.includes('cart-filled') === true ? 'a basket' : 'menu', {
      'sw-invalidation-states': 'cart-filled',
    }),
  )
  expect((await shop.visit('/')).text).toBe('menu|foot')
  const own = await shop.visit('/', { fields: { Cookie: 'sw-states=cart-filled' } })
  expect(own.text).not.toContain('menu|')
  expect((await shop.visit('/')).text).toBe('menu|foot')
})

it('a page with fragments counts its hits once and keeps its fragments from eviction', async () => {
  const shop = await open()
  await shop.visit('/')
  for (let hits = 0; hits < 5; hits++) await shop.visit('/')
  shop.store.recordHits([])
  await shop.stopCache()
  await until(() => expect(shop.store.findByUrl(`${shopUrl}/`)[0]!.hits).toBe(5))
  const [page] = shop.store.findByUrl(`${shopUrl}/`)
  const [menu] = shop.store.findByUrl(`${shopUrl}/_esi/menu`)
  expect(menu!.usedAt).toBe(page!.usedAt)
})
