import { describe, expect, it, onTestFinished } from 'vitest'
import type { Selection } from '../../src/pages/page-store.ts'
import type { Reply } from './scripted-origin.ts'
import { openSite, shopUrl } from './site.ts'
import { openPages } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"', xkey: 'product-1 theme' }

const selections: [string, Selection, boolean][] = [
  ['everything', { kind: 'all' }, true],
  ['its type', { kind: 'type', type: 'products' }, true],
  ['its tag', { kind: 'tags', tags: ['other', 'theme'] }, true],
  ['its URL', { kind: 'urls', urls: [`${shopUrl}/b`, `${shopUrl}/a`] }, true],
  ['another type', { kind: 'type', type: 'categories' }, false],
  ['another tag', { kind: 'tags', tags: ['product-2'] }, false],
  ['another URL', { kind: 'urls', urls: [`${shopUrl}/b`] }, false],
]

async function open(memory: number) {
  const site = await openSite({ memory })
  onTestFinished(() => site.close())
  let answer: ((reply: Reply) => void) | null = null
  return {
    site,
    /** Makes the origin wait with its response until `release`. */
    hold: () => site.answers(() => new Promise<Reply>((resolve) => (answer = resolve))),
    release: async (reply: Reply) => {
      await until(() => expect(answer).not.toBeNull())
      answer!(reply)
    },
  }
}

describe.each([
  ['memory', 16 << 20],
  ['disk', 0],
])('a purge, with pages from %s,', (_, memory) => {
  it.each(selections)('of %s fences a fetch', async (_name, selection, covers) => {
    const { site, hold, release } = await open(memory)
    hold()
    const visit = site.visit('/a')
    await until(() => expect(site.origin.requests).toHaveLength(1))
    await site.store.remove(selection)
    await release({ fields, body: 'old' })
    const answer = await visit
    expect(answer.text).toBe('old')
    expect(answer.field('cache-status')).toMatch(covers ? /detail="invalidated while it was fetched/ : /stored/)
    site.answers({ fields, body: 'new' })
    expect((await site.visit('/a')).text).toBe(covers ? 'new' : 'old')
    expect(site.store.counters().products.count).toBe(1)
  })

  it.each(selections)('of %s fences a validation', async (_name, selection, covers) => {
    const { site, hold, release } = await open(memory)
    site.answers({ fields, body: 'old' })
    await site.visit('/a')
    site.wait(70)
    hold()
    const visit = site.visit('/a')
    await until(() => expect(site.origin.requests).toHaveLength(2))
    await site.store.remove(selection)
    await release({ status: 304, fields })
    // The waiting visitor gets the validated page if its body still exists, else a new one.
    site.answers({ fields, body: 'new' })
    expect((await visit).text).toBe(covers && memory === 0 ? 'new' : 'old')
    const after = await site.visit('/a')
    expect(after.text).toBe(covers ? 'new' : 'old')
    if (covers) expect(site.origin.requests[2]!.fields.has('if-none-match')).toBe(false)
  })

  it.each(selections.filter(([, , covers]) => covers))('of %s fences a background fetch', async (_name, selection) => {
    const { site, hold, release } = await open(memory)
    const swr = { ...fields, 'Cache-Control': 'max-age=10, stale-while-revalidate=600' }
    site.answers({ fields: swr, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    hold()
    expect((await site.visit('/a')).text).toBe('old')
    await until(() => expect(site.origin.requests).toHaveLength(2))
    await site.store.remove(selection)
    await release({ fields: swr, body: 'old again' })
    site.answers({ fields: swr, body: 'new' })
    expect((await site.visit('/a')).text).toBe('new')
    expect((await site.visit('/a')).text).toBe('new')
    expect(site.origin.requests).toHaveLength(3)
  })

  it('prevents serving the stale page on an error afterwards', async () => {
    const { site } = await open(memory)
    site.answers({ fields: { ...fields, 'Cache-Control': 'max-age=10, stale-if-error=600' }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    await site.store.remove({ kind: 'tags', tags: ['theme'] })
    site.answers({ status: 503, body: 'sorry' })
    expect(await site.visit('/a')).toMatchObject({ status: 503, text: 'sorry' })
  })
})

it('the regular path serves no page from memory that another process has removed', async () => {
  const { site } = await open(16 << 20)
  site.answers({ fields, body: 'old' })
  await site.visit('/a')
  const { pages: other } = await openPages({ directory: site.directory, now: site.now })
  for (const [, selection] of selections.slice(0, 4)) {
    site.answers({ fields, body: 'new' })
    await other.remove(selection)
    expect(await site.visit('/a', { long: true, fields: { 'If-None-Match': '"a"' } })).toMatchObject({ status: 304 })
    expect(site.store.findByUrl(`${shopUrl}/a`)).toHaveLength(1)
  }
  expect(site.origin.requests).toHaveLength(5)
})

it('an unsafe request has invalidated before it is answered', async () => {
  const { site } = await open(16 << 20)
  site.answers({ fields, body: 'old' })
  await site.visit('/a')
  site.answers((request) =>
    request.method === 'POST' ? { status: 303, fields: { Location: '/a' } } : { fields, body: 'new' },
  )
  expect((await site.visit('/b', { method: 'POST', body: 'rating=5' })).status).toBe(303)
  expect((await site.visit('/a')).text).toBe('new')
})

it('the response to an unsafe request waits for the removal', async () => {
  const { site } = await open(16 << 20)
  const remove = site.store.remove.bind(site.store)
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>()
  const order: string[] = []
  site.store.remove = async (selection) => {
    await gate
    const count = await remove(selection)
    order.push('removed')
    return count
  }
  site.answers({ fields, body: 'old' })
  await site.visit('/a')
  site.answers({ status: 204 })
  const visit = site.visit('/a', { method: 'POST', body: 'x' }).then(() => order.push('answered'))
  await until(() => expect(site.origin.requests).toHaveLength(2))
  openGate()
  await visit
  expect(order).toEqual(['removed', 'answered'])
})

it('a purge between storing a page and adding it to memory leaves nothing in memory', async () => {
  const { site } = await open(16 << 20)
  const put = site.store.put.bind(site.store)
  site.store.put = async (...page) => {
    const stored = await put(...page)
    await site.store.remove({ kind: 'all' })
    return stored
  }
  site.answers({ fields, body: 'old' })
  await site.visit('/a')
  site.store.put = put
  site.answers({ fields, body: 'new' })
  expect((await site.visit('/a')).text).toBe('new')
})

it('an unsafe request invalidates no path that is never cached', async () => {
  const { site } = await open(16 << 20)
  const fence = site.store.fence()
  site.answers({ status: 302, fields: { Location: '/checkout/cart' } })
  await site.visit('/checkout/line-item/add', { method: 'POST', body: 'id=1' })
  expect(site.store.holds(fence)).toBe(true)
})
