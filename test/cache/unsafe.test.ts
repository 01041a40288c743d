import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SharedPages } from '../../src/cluster/shared/shared-pages.ts'
import type { SharedPage } from '../../src/cluster/shared/value.ts'
import { PagecacheError } from '../../src/errors.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { openSite } from './site.ts'
import { until } from '../helpers/until.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60' }
const pages = ({ method, target }: OriginRequest): Reply =>
  method === 'POST'
    ? { status: 303, fields: { Location: target.replace('/to', ''), 'Content-Location': '/other' } }
    : { fields, body: 'page' }

async function open(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(pages)
  const removals: string[][] = []
  const { remove } = site.store
  site.store.remove = async (selection, options) => {
    if (selection.kind === 'urls') removals.push(selection.urls.map((url) => new URL(url).pathname))
    return remove.call(site.store, selection, options)
  }
  const isCached = async (target: string) => /; hit/.test((await site.visit(target)).field('cache-status') ?? '')
  const post = (target: string) => site.visit(target, { method: 'POST', body: 'a=1' })
  return { site, removals, isCached, post }
}

describe('a POST invalidates', () => {
  it.each([
    ['off', [true, true, true]],
    ['uri', [false, true, true]],
    ['rfc', [false, false, false]],
  ] as const)('%s', async (invalidateOnUnsafe, kept) => {
    const { site, isCached, post } = await open({ invalidateOnUnsafe })
    const targets = ['/to/product', '/product', '/other']
    for (const target of targets) await site.visit(target)
    await post('/to/product')
    for (const [index, target] of targets.entries()) expect(await isCached(target), target).toBe(kept[index])
  })

  it('a page that a fetch in progress has given to the other nodes meanwhile', async () => {
    const given = new Map<string, SharedPage>()
    const answered = Promise.withResolvers<void>()
    let visit: Promise<unknown> = Promise.resolve()
    const shared: Pick<SharedPages, 'clock' | 'obtain' | 'write' | 'forget'> = {
      clock: () => ({ history: 1, number: 1 }),
      obtain: async ({ url }) => {
        const page = given.get(url)
        return page === undefined ? { kind: 'fetch', release: () => {} } : { kind: 'page', page }
      },
      write: (draft, body, clock) => void given.set(draft.url, { draft, body, clock }),
      forget: async (urls) => {
        for (const url of urls) given.delete(url)
        answered.resolve()
        await visit
      },
    }
    const { site, post } = await open({ shared: shared as SharedPages })
    let content = 'old'
    site.answers(async ({ method }) => {
      if (method === 'POST') return { body: (content = 'new') }
      const body = content
      if (body === 'old') await answered.promise
      return { fields, body }
    })
    visit = site.visit('/product')
    await until(() => site.origin.requests.length === 1)
    await post('/product')
    expect((await site.visit('/product')).text).toBe('new')
  })

  it('no path that is never cached, and nothing on another origin', async () => {
    const { site, removals, post } = await open()
    for (const location of [
      'https://shop.example/product',
      '//evil.example/product',
      'http://shop.example:8080/product',
      '/checkout',
      'javascript:alert(1)',
      'http://[',
    ]) {
      site.answers((request) =>
        request.method === 'POST' ? { status: 303, fields: { Location: location } } : { fields, body: 'page' },
      )
      await site.visit('/product')
      await post('/checkout/add')
    }
    expect(removals).toEqual([])
  })

  it('nothing when the shop refuses it', async () => {
    const { site, removals, post } = await open()
    await site.visit('/to/a')
    for (const status of [400, 404, 500]) {
      site.answers({ status, fields: { Location: '/to/a' } })
      await post('/to/a')
    }
    expect(removals).toEqual([])
  })
})

describe('invalidation by a POST', () => {
  it('writes nothing when nothing is cached', async () => {
    const { site, removals, post } = await open()
    for (let count = 0; count < 50; count++) await post(`/to/${count}`)
    expect(removals).toEqual([])
    expect(site.cache.unsafe).toEqual({ pages: 0, writes: 0, failures: 0 })
  })

  it('is written for other processes, whose pages may wait to be stored, although nothing is cached here', async () => {
    const { removals, post } = await open({ processes: 2 })
    await post('/to/a')
    expect(removals).toEqual([['/to/a', '/a', '/other']])
  })

  it('groups concurrent requests into few writes', async () => {
    const { site, removals, isCached, post } = await open()
    const targets = Array.from({ length: 64 }, (_, index) => `/${index}`)
    for (const target of targets) await site.visit(target)
    const started = performance.now()
    await Promise.all(targets.map(post))
    // Two writes are at least 20 ms apart, however slow the machine is. Timers may fire a little early.
    expect(removals.length).toBeLessThanOrEqual(1 + (performance.now() - started) / 19)
    expect(
      removals
        .flat()
        .filter((path) => path !== '/other')
        .toSorted(),
    ).toEqual(targets.toSorted())
    expect(site.cache.unsafe).toEqual({ pages: 64, writes: removals.length, failures: 0 })
    for (const target of targets) expect(await isCached(target), target).toBe(false)
  })

  it('begins no write while another one is under way, however long it takes', async () => {
    const { site, removals, post } = await open()
    const targets = Array.from({ length: 8 }, (_, index) => `/to/${index}`)
    for (const target of targets) await site.visit(target)
    const { remove } = site.store
    const { promise: slowly, resolve } = Promise.withResolvers<void>()
    site.store.remove = async (...asked) => {
      const removed = await remove.apply(site.store, asked)
      await slowly
      return removed
    }
    const posts: Promise<unknown>[] = []
    for (const target of targets) {
      posts.push(post(target))
      await until(() => removals.length > 0)
      await pause(5)
    }
    expect(removals).toEqual([['/to/0', '/0', '/other']])
    resolve()
    await Promise.all(posts)
    expect(removals.length).toBe(2)
  })

  it('waits for other nodes in vain without keeping later requests waiting for as long', async () => {
    const { site, removals, post } = await open({ standing: () => 'confirmed' })
    const { remove } = site.store
    const { promise: late, resolve } = Promise.withResolvers<void>()
    site.store.remove = async (...asked) => remove.apply(site.store, asked).finally(() => late)
    const first = post('/to/a')
    await until(() => removals.length === 1)
    const second = post('/to/b')
    await until(() => removals.length === 2)
    resolve()
    await Promise.all([first, second])
  })

  it('fences a page that is being fetched', async () => {
    const { site, isCached, post } = await open()
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    site.answers(async (request) => {
      if (request.method === 'GET') await held
      return request.method === 'GET' ? { fields, body: 'before' } : {}
    })
    const before = site.visit('/a')
    await until(() => expect(site.origin.requests.length).toBe(1))
    await post('/a')
    release()
    await before
    site.answers({ fields, body: 'after' })
    expect(await isCached('/a')).toBe(false)
    expect((await site.visit('/a')).text).toBe('after')
  })

  it('does not fail the visitor when the store cannot be written', async () => {
    const { site, post } = await open()
    await site.visit('/to/a')
    const refuse: PageStore['remove'] = async () => {
      throw new PagecacheError('STORE_BUSY', 'busy')
    }
    site.store.remove = refuse
    expect((await post('/to/a')).status).toBe(303)
    expect(site.cache.unsafe.failures).toBe(1)
    expect(site.faults).toEqual([expect.stringMatching(/could not invalidate/)])
  })
})
