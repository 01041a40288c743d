import { describe, expect, it } from 'vitest'
import type { OriginRequest } from './scripted-origin.ts'
import { shopUrl, type Site } from './site.ts'
import { crowd, openSlow, page } from './slow-site.ts'
import { resultOf } from '../../src/traffic/result.ts'
import { until } from '../helpers/until.ts'

describe('concurrent visitors of one page', () => {
  it('fifty misses cost one origin request', async () => {
    const { site, arrived, release } = await openSlow()
    const visits = crowd(50, () => site.visit('/a'))
    await arrived(1)
    release()
    const answers = await Promise.all(visits)
    expect(new Set(answers.map((answer) => answer.text))).toEqual(new Set(['the page']))
    expect(answers.filter((answer) => answer.field('cache-status')?.includes('collapsed'))).toHaveLength(49)
    expect(site.origin.requests).toHaveLength(1)
  })

  it('fifty visitors of a stale page cost one validation', async () => {
    const { site, arrived, release } = await openSlow()
    const first = site.visit('/a')
    await arrived(1)
    release({ ...page, fields: { ...page.fields, ETag: '"a"' } })
    await first
    site.wait(70)
    const visits = crowd(50, () => site.visit('/a'))
    await arrived(2)
    expect(site.origin.requests[1]!.fields.get('if-none-match')).toBe('"a"')
    release({ status: 304, fields: { ...page.fields, ETag: '"a"' } })
    expect((await Promise.all(visits)).map((answer) => answer.text)).toEqual(Array(50).fill('the page'))
    expect(site.origin.requests).toHaveLength(2)
  })

  it('each variant costs one origin request', async () => {
    const { site, waiting, arrived, release } = await openSlow()
    const visits = crowd(40, (index) =>
      site.visit('/a', { fields: { Cookie: `sw-currency=${index % 2 === 0 ? 'EUR' : 'CHF'}` } }),
    )
    await arrived(2)
    release((index) => ({ ...page, body: String(index) }))
    await Promise.all(visits)
    expect(waiting).toEqual([])
    expect(site.origin.requests).toHaveLength(2)
  })

  it('visitors whose Vary fields differ get their own responses', async () => {
    const { site } = await openSlow()
    site.answers((request: OriginRequest) => ({
      ...page,
      fields: { ...page.fields, Vary: 'Accept-Language' },
      body: request.fields.get('accept-language')!,
    }))
    const answers = await Promise.all(
      crowd(30, (index) => site.visit('/a', { fields: { 'Accept-Language': ['de', 'en', 'fr'][index % 3]! } })),
    )
    expect(answers.map((answer) => answer.text)).toEqual(
      Array.from({ length: 30 }, (_, index) => ['de', 'en', 'fr'][index % 3]),
    )
  })

  it('a private response is fetched by each visitor, concurrently', async () => {
    const { site, waiting, arrived, release } = await openSlow()
    const visits = crowd(20, () => site.visit('/a'))
    await arrived(1)
    release({ fields: { 'Cache-Control': 'private' }, body: 'yours 0' })
    await until(() => expect(waiting).toHaveLength(19))
    release((index) => ({ fields: { 'Cache-Control': 'private' }, body: `yours ${index + 1}` }))
    const bodies = (await Promise.all(visits)).map((answer) => answer.text)
    expect(new Set(bodies).size).toBe(20)
  })

  it('later visitors of a page that was private do not queue', async () => {
    const { site, arrived, release } = await openSlow()
    const first = site.visit('/a')
    await arrived(1)
    release({ fields: { 'Cache-Control': 'private' } })
    await first
    const visits = crowd(10, () => site.visit('/a'))
    await arrived(11)
    release({ fields: { 'Cache-Control': 'private' } })
    await Promise.all(visits)
  })

  it('visitors of a page that a purge kept from being stored share the next fetch', async () => {
    // Too large for memory: it is streamed to the visitor.
    const { site, arrived, release } = await openSlow({ memory: 0 })
    const first = site.visit('/a')
    await arrived(1)
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
    release()
    expect((await first).field('cache-status')).toContain('invalidated while it was fetched')
    const visits = crowd(20, () => site.visit('/a'))
    await arrived(2)
    release()
    await Promise.all(visits)
    expect(site.origin.requests).toHaveLength(2)
  })

  it.each([429, 500, 502, 503, 504])('visitors share a fetch a second after the status %i', async (status) => {
    const { site, arrived, release } = await openSlow()
    const first = site.visit('/a')
    await arrived(1)
    release({ status })
    expect((await first).status).toBe(status)
    const alone = crowd(2, () => site.visit('/a'))
    await arrived(3)
    release({ status })
    await Promise.all(alone)
    site.wait(1.1)
    const visits = crowd(20, () => site.visit('/a'))
    await arrived(4)
    release()
    expect((await Promise.all(visits)).map((answer) => answer.text)).toEqual(Array(20).fill('the page'))
    expect(site.origin.requests).toHaveLength(4)
  })

  it('Set-Cookie goes only to the visitor who caused the fetch', async () => {
    const { site, arrived, release } = await openSlow()
    const visits = crowd(10, () => site.visit('/a'))
    await arrived(1)
    release({ ...page, fields: { ...page.fields, 'Set-Cookie': 'session=1' } })
    expect((await Promise.all(visits)).filter((answer) => answer.field('set-cookie') !== null)).toHaveLength(1)
    expect(site.origin.requests).toHaveLength(1)
  })
})

describe('when the visitor who leads a fetch', () => {
  it('disconnects, the others still get the page', async () => {
    const { site, arrived, release } = await openSlow()
    const leaving = new AbortController()
    const leader = site.visit('/a', { signal: leaving.signal })
    await arrived(1)
    const others = crowd(5, () => site.visit('/a'))
    leaving.abort()
    release()
    expect((await Promise.all(others)).map((answer) => answer.text)).toEqual(Array(5).fill('the page'))
    await leader
    expect(site.origin.requests).toHaveLength(1)
  })

  it('gets an error that cannot be shared, the others fetch for themselves', async () => {
    const { site, waiting, arrived, release } = await openSlow()
    const visits = crowd(5, () => site.visit('/a'))
    await arrived(1)
    release({ status: 500, body: 'sorry' })
    await until(() => expect(waiting).toHaveLength(4))
    release(page)
    expect((await Promise.all(visits)).map((answer) => answer.status).toSorted()).toEqual([200, 200, 200, 200, 500])
  })

  it('gets a broken response, the others get the same error', async () => {
    const { site, arrived, release } = await openSlow()
    const visits = crowd(50, () => site.visit('/a'))
    await arrived(1)
    // An interrupted GET is retried once.
    release({ breaks: 'before' })
    await arrived(2)
    release({ breaks: 'before' })
    expect((await Promise.all(visits)).map((answer) => answer.status)).toEqual(Array(50).fill(502))
    expect(site.origin.requests).toHaveLength(2)
  })

  it('waits in vain for a response, the others get the same error, and a later visitor asks again', async () => {
    const { site, arrived, release } = await openSlow({
      timeouts: { connect: 60_000, headers: 300, idle: 60_000, total: 120_000 },
    })
    const answers = await Promise.all(crowd(50, () => site.visit('/a')))
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(504))
    expect(site.origin.requests).toHaveLength(1)
    const later = site.visit('/a')
    await arrived(2)
    release()
    release()
    expect((await later).text).toBe('the page')
  })

  it('gets no response, the others get the stale page', async () => {
    const { site, arrived, release } = await openSlow()
    const first = site.visit('/a')
    await arrived(1)
    release({ fields: { 'Cache-Control': 'max-age=10' }, body: 'old' })
    await first
    site.wait(20)
    const visits = crowd(50, () => site.visit('/a'))
    await arrived(2)
    release({ breaks: 'before' })
    await arrived(3)
    release({ breaks: 'before' })
    const answers = await Promise.all(visits)
    expect(answers.map((answer) => answer.text)).toEqual(Array(50).fill('old'))
    expect(answers.every((answer) => answer.field('cache-status')?.includes('stale, origin unreachable'))).toBe(true)
    expect(site.origin.requests).toHaveLength(3)
  })

  it('gets an error that a stale page replaces, the others get that page, and all count as stale', async () => {
    const { site, arrived, release } = await openSlow()
    const first = site.visit('/a')
    await arrived(1)
    release({ fields: { 'Cache-Control': 'max-age=10, stale-if-error=60' }, body: 'old' })
    await first
    site.wait(20)
    const visits = crowd(30, () => site.visit('/a'))
    await arrived(2)
    release({ status: 500, body: 'sorry' })
    const answers = await Promise.all(visits)
    expect(answers.map((answer) => answer.text)).toEqual(Array(30).fill('old'))
    const told = [...new Set(answers.map((answer) => answer.field('cache-status')))]
    expect(told).toEqual(['pagecache; hit; ttl=-10; detail="stale-if-error 500"'])
    expect(told.map(resultOf)).toEqual(['stale'])
    expect(site.origin.requests).toHaveLength(2)
  })

  it('fetches a page that is purged meanwhile, a later visitor does not join', async () => {
    const { site, waiting, arrived } = await openSlow()
    const before = site.visit('/a')
    await arrived(1)
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
    const after = site.visit('/a')
    await arrived(2)
    waiting[1]!({ ...page, body: 'new' })
    expect((await after).text).toBe('new')
    waiting[0]!({ ...page, body: 'old' })
    expect((await before).text).toBe('old')
    expect((await site.visit('/a')).text).toBe('new')
  })
})

describe('stale-while-revalidate', () => {
  const swr = { 'Cache-Control': 'max-age=10, stale-while-revalidate=60' }

  async function openStale(): Promise<Awaited<ReturnType<typeof openSlow>> & { site: Site }> {
    const slow = await openSlow()
    const first = slow.site.visit('/a')
    await slow.arrived(1)
    slow.release({ fields: swr, body: 'old' })
    await first
    slow.site.wait(20)
    return slow
  }

  it('fifty visitors cost one background fetch', async () => {
    const { site, arrived, release } = await openStale()
    const answers = await Promise.all(crowd(50, () => site.visit('/a')))
    expect(answers.map((answer) => answer.text)).toEqual(Array(50).fill('old'))
    await arrived(2)
    release({ fields: swr, body: 'new' })
    await until(async () => expect((await site.visit('/a')).text).toBe('new'))
    expect(site.origin.requests).toHaveLength(2)
  })

  it('a failed revalidation is retried for the next visitor after a second', async () => {
    const { site, arrived, release } = await openStale()
    expect((await site.visit('/a')).text).toBe('old')
    await arrived(2)
    release({ status: 500 })
    await until(async () => {
      expect((await site.visit('/a')).text).toBe('old')
      site.wait(1)
      expect(site.origin.requests.length).toBeGreaterThan(2)
    })
    release({ fields: swr, body: 'new' })
    await until(async () => expect((await site.visit('/a')).text).toBe('new'))
    expect(site.faults).toEqual([])
  })
})
