import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { until } from '../helpers/until.ts'
import { openShopware, shared } from './shopware-preset.ts'

describe('stale pages', () => {
  const expired = async (fields: Record<string, string>, settings = {}) => {
    let reply: object = { fields }
    const opened = await openShopware(() => reply, settings)
    await opened.get('/a')
    opened.site.wait(7201)
    return { ...opened, answersWith: (next: object) => void (reply = next) }
  }

  it('an expired page is served for three days while one request renews it', async () => {
    const { site, get, requests } = await expired(shared)
    const answers = await Promise.all([get('/a'), get('/a', 'x=1'), get('/a', null, { Range: 'bytes=0-1' })])
    expect(answers.map(({ text }) => text)).toEqual(['page 1', 'page 1', 'pa'])
    expect(answers[0]!.field('cache-status')).toMatch(/hit; ttl=-1; detail="stale-while-revalidate"/)
    await until(async () => (await get('/a')).text === 'page 2')
    expect(requests).toHaveLength(2)
    site.wait(7200 + 3 * 86_400 + 1)
    expect((await get('/a')).text).toBe('page 3')
  })

  it('an expired page is served for three days while the shop fails', async () => {
    for (const failure of [{ status: 503, fields: { 'Cache-Control': 'private' } }, { breaks: 'before' }]) {
      const { site, get, answersWith } = await expired(shared)
      answersWith(failure)
      site.wait(2 * 86_400)
      for (let visits = 0; visits < 3; visits += 1) expect((await get('/a')).text).toBe('page 1')
      site.wait(86_400)
      expect((await get('/a')).status).toBeGreaterThanOrEqual(500)
    }
  })

  it('a shop that answers 429 while a page is renewed has not refused to have it stored', async () => {
    const { site, get, requests, answersWith } = await expired(shared)
    answersWith({ status: 429, fields: { 'Cache-Control': 'private' } })
    await until(async () => {
      expect((await get('/a')).text).toBe('page 1')
      site.wait(1)
      return requests.length > 3
    })
  })

  it.each([{ status: 503 }, { status: 429 }, { breaks: 'before' }])(
    'a shop that fails is asked once a second for a stale page: %o',
    async (failure) => {
      const { site, get, requests, answersWith } = await expired(shared)
      answersWith(failure)
      await get('/a')
      await pause(200)
      // A request on a kept connection that breaks is repeated.
      const before = requests.length
      expect(before).toBeGreaterThan(1)
      for (let visits = 0; visits < 20; visits += 1) expect((await get('/a')).text).toBe('page 1')
      await pause(200)
      expect(requests).toHaveLength(before)
      site.wait(1)
      answersWith({ fields: shared })
      await until(async () => (await get('/a')).text !== 'page 1')
      expect(requests).toHaveLength(before + 1)
    },
  )

  it.each(['must-revalidate', 'proxy-revalidate', 'no-cache'])(
    '%s keeps a stale page from being served',
    async (directive) => {
      const { get, answersWith } = await expired({ ...shared, 'Cache-Control': `public, s-maxage=7200, ${directive}` })
      answersWith({ status: 503, fields: { 'Cache-Control': 'private' } })
      expect((await get('/a')).status).toBe(503)
      answersWith({ breaks: 'before' })
      expect((await get('/a')).status).toBe(502)
    },
  )

  it('a page without a lifetime is never served stale', async () => {
    const { get } = await expired({ 'Cache-Control': 'public, s-maxage=0', ETag: '"a"' })
    expect((await get('/a')).text).not.toBe('page 1')
  })

  it('a softly purged page is served while it is renewed, a purged one is not', async () => {
    const { site, get } = await openShopware({ ...shared, xkey: 'product-1' })
    await get('/a')
    await site.store.remove({ kind: 'tags', tags: ['product-1'] }, { soft: true })
    site.wait(1)
    expect((await get('/a')).text).toBe('page 1')
    await until(async () => (await get('/a')).text === 'page 2')
    await site.store.remove({ kind: 'tags', tags: ['product-1'] })
    expect((await get('/a')).text).toBe('page 3')
  })

  it('a stale page is no longer served once the shop forbids storing it', async () => {
    const { get, requests, answersWith } = await expired(shared)
    answersWith({ fields: { 'Cache-Control': 'private' } })
    expect((await get('/a')).text).toBe('page 1')
    await until(() => requests.length === 2)
    await until(async () => (await get('/a')).text !== 'page 1')
    expect((await get('/a')).text).not.toBe('page 1')
  })

  it.each([
    ['a private page', { fields: { 'Cache-Control': 'private' } }],
    ['a redirect', { status: 302, fields: { 'Cache-Control': 'no-cache, private', Location: '/b' } }],
    ['a missing page', { status: 404, fields: { 'Cache-Control': 'no-cache, private' } }],
  ])('a stale page is not served again after %s, whatever cookies visitors have', async (_, reply) => {
    const { site, get, requests, answersWith } = await expired(shared)
    answersWith(reply)
    expect((await get('/a', 'session-=1')).text).toBe('page 1')
    await until(() => requests.length === 2)
    await until(async () => (await get('/a', 'session-=2')).text !== 'page 1')
    site.wait(3600)
    expect((await get('/a', 'session-=3')).text).not.toBe('page 1')
    expect((await get('/a')).text).not.toBe('page 1')
    // Served stale again once the shop has it stored again.
    answersWith({ fields: shared })
    const { text } = await get('/a')
    site.wait(7201)
    expect((await get('/a', 'session-=3')).text).toBe(text)
  })

  it('visitors of a stale page cost one request while the shop answers one of them by itself', async () => {
    const { get, requests, answersWith } = await expired(shared)
    answersWith({ fields: { ...shared, 'sw-dynamic-cache-bypass': '1' } })
    await until(async () => {
      await get('/a')
      return requests.length > 2
    })
    const before = requests.length
    await Promise.all(Array.from({ length: 20 }, () => get('/a')))
    await pause(300)
    expect(requests.length - before).toBeLessThan(3)
  })

  it.each([
    ['answers an error', { status: 503, fields: { 'Cache-Control': 'private' } }],
    ['cannot be reached', { breaks: 'before' }],
  ])('a stale page does not come back when the shop, having refused to have it stored, %s', async (_, failure) => {
    const { site, get, requests, answersWith } = await expired(shared)
    answersWith({ fields: { 'Cache-Control': 'private' } })
    await get('/a')
    await until(() => requests.length === 2)
    await until(async () => (await get('/a')).text !== 'page 1')
    answersWith(failure)
    const answers = await Promise.all([get('/a'), get('/a', 'session-=1'), get('/a')])
    expect(answers.every(({ status }) => status >= 500)).toBe(true)
    site.wait(3600)
    expect((await get('/a')).status).toBeGreaterThanOrEqual(500)
  })

  it('a stale page is still served to all after an error of the shop, whatever the error says about storing', async () => {
    const { site, get, answersWith } = await expired({ 'Cache-Control': 'public, max-age=7200' }, { grace: 0 })
    answersWith({ status: 503, fields: { 'Cache-Control': 'no-store' } })
    expect((await get('/a')).status).toBe(503)
    site.wait(1)
    answersWith({ breaks: 'before' })
    expect((await get('/a')).text).toBe('page 1')
  })

  it('a stale page is still served after a response that may be about the visitor', async () => {
    const { get, requests, answersWith } = await expired(shared)
    answersWith({ status: 403, fields: { 'Cache-Control': 'private' } })
    await until(async () => {
      expect((await get('/a', 'session-=1')).text).toBe('page 1')
      return requests.length > 3
    })
  })

  it('cache.grace can be set by itself', async () => {
    const { site, get } = await expired(shared, { grace: '10s' })
    site.wait(10)
    expect((await get('/a')).text).toBe('page 2')
  })
})
