import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, tagged, type Shop } from '../http/api/shop.ts'
import { speak } from '../http/front/wire.ts'

describe('from an address that may not', () => {
  let strict: Shop
  beforeAll(async () => {
    strict = await openShop({ config: { purgers: ['192.0.2.1'], trustedProxies: ['127.0.0.1'] } })
    strict.origin.otherwise((request) => tagged(`all ${request.path.slice(1)}`))
  })
  afterAll(() => strict.close())

  it.each([
    ['PURGE', 'PURGE /kept HTTP/1.1\r\nHost: HOST\r\nFORWARDED\r\n'],
    ['PURGE with tags', 'PURGE / HTTP/1.1\r\nHost: HOST\r\nxkey: kept all\r\nFORWARDED\r\n'],
    ['BAN', 'BAN / HTTP/1.1\r\nHost: HOST\r\nFORWARDED\r\n'],
    ['BAN in pieces', 'BAN / HTTP/1.1\r\nHost: HOST\r\nFORWARDED'],
    ['PURGEKEYS', 'PURGEKEYS / HTTP/1.1\r\nHost: HOST\r\nxkey-softpurge: kept all\r\nFORWARDED\r\n'],
    [
      'BAN behind another request',
      'POST /form HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\nBAN / HTTP/1.1\r\nHost: HOST\r\nFORWARDED\r\n',
    ],
  ])('%s is answered 403, whatever X-Forwarded-For says', async (_, request) => {
    await strict.ask('/kept')
    strict.origin.forget()
    const text = request
      .replaceAll('HOST', strict.host)
      .replace('FORWARDED', 'X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nConnection: close\r\n')
    const { answers } = await speak(strict.port, text)
    expect(answers.at(-1)!.status).toBe(403)
    await strict.ask('/kept')
    expect(strict.origin.hits('/kept')).toBe(0)
  })
})

describe('through a trusted proxy', () => {
  let front: Shop
  beforeAll(async () => {
    front = await openShop({ config: { trustedProxies: ['127.0.0.1'] } })
    front.origin.otherwise((request) => tagged(`all ${request.path.slice(1)}`))
  })
  afterAll(() => front.close())

  it.each([
    ['PURGE /kept', 'X-Forwarded-For: 192.0.2.7', 403],
    ['PURGE /kept', 'X-Forwarded-For: 127.0.0.1, 192.0.2.7', 403],
    ['PURGE /kept', 'X-Forwarded-For: nonsense', 403],
    ['PURGE /kept', 'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: 192.0.2.7', 403],
    ['BAN /', 'X-Forwarded-For: 192.0.2.7', 403],
    // A proxy behind another one on this machine appends that one's address to the visitor's.
    ['PURGE /kept', 'X-Forwarded-For: 192.0.2.7, 127.0.0.1', 403],
    ['BAN /', 'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 127.0.0.1:4711', 403],
    ['PURGE /kept', 'X-Forwarded-For: 192.0.2.7, ::1, 127.0.0.1', 200],
    ['PURGE /kept', 'X-Forwarded-For: 127.0.0.1, 127.0.0.1', 200],
    ['BAN /', 'X-Forwarded-For: [::1]:4711', 200],
    ['BAN /', 'X-Other: 1', 200],
    ['PURGE /kept', 'X-Real-IP: 192.0.2.7', 403],
    ['PURGE /kept', 'Via: 1.1 edge', 403],
    ['PURGEKEYS /kept', 'Forwarded: for=192.0.2.7', 403],
    ['BAN /', 'CF-Connecting-IP: 192.0.2.7', 403],
    ['PURGE /kept', 'X-Real-IP: 192.0.2.7\r\nX-Forwarded-For: 127.0.0.1', 200],
  ])('%s with %s', async (line, field, status) => {
    await front.ask('/kept')
    front.origin.forget()
    const { answers } = await speak(
      front.port,
      `${line} HTTP/1.1\r\nHost: ${front.host}\r\n${field}\r\nConnection: close\r\n\r\n`,
    )
    expect(answers[0]!.status).toBe(status)
    if (status === 403)
      expect(answers[0]!.body).toBe(
        field.startsWith('X-Forwarded-For')
          ? 'Purging is not allowed from the address in X-Forwarded-For.'
          : `Purging is not allowed: ${field.split(':')[0]} says that a proxy forwarded the request, but no X-Forwarded-For names its sender.`,
      )
    await front.ask('/kept')
    expect(front.origin.hits('/kept')).toBe(status === 200 ? 1 : 0)
  })
})

describe('through a proxy on the same machine that is not trusted', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop()
    shop.origin.otherwise((request) => tagged(`all ${request.path.slice(1)}`))
  })
  afterAll(() => shop.close())

  it.each([
    ['PURGE /kept', 'X-Forwarded-For: 192.0.2.7'],
    ['PURGE /kept', 'X-Forwarded-For: 127.0.0.1'],
    ['PURGE /kept', 'X-Real-IP: 127.0.0.1'],
    ['BAN /', 'Via: 1.1 edge'],
    ['PURGEKEYS /kept', 'True-Client-IP: 192.0.2.7'],
    ['PURGE /kept', 'X-Forwarded-Proto: https'],
    ['BAN /', 'X-Forwarded-Port: 443'],
  ])('%s with %s is answered 403, and the page is kept', async (line, field) => {
    await shop.ask('/kept')
    shop.origin.forget()
    const { answers } = await speak(
      shop.port,
      `${line} HTTP/1.1\r\nHost: ${shop.host}\r\n${field}\r\nxkey: kept\r\nConnection: close\r\n\r\n`,
    )
    expect(answers[0]!.status).toBe(403)
    expect(answers[0]!.body).toBe(
      `Purging is not allowed: ${field.split(':')[0]} says that a proxy forwarded the request, and that proxy is not in trustedProxies.`,
    )
    await shop.ask('/kept')
    expect(shop.origin.hits('/kept')).toBe(0)
  })

  it('a request of a browser is answered 403, and told why', async () => {
    const request = `PURGE /kept HTTP/1.1\r\nHost: ${shop.host}\r\nOrigin: http://elsewhere.example\r\n\r\n`
    const { answers } = await speak(shop.port, request, { answers: 1 })
    expect(answers[0]).toMatchObject({
      status: 403,
      body: 'Purging is not allowed: a request with Origin comes from a browser.',
    })
  })
})

describe('the tags of a page', () => {
  const ask = { headers: { 'x-pagecache-tags': '1' } }

  it('are hidden from untrusted clients, and the shop does not see the request for them', async () => {
    const shop = await openShop()
    try {
      shop.origin.otherwise(() => tagged('all'))
      for (let time = 0; time < 2; time++) expect((await shop.ask('/tagged', ask)).headers.get('xkey')).toBeNull()
      expect(shop.origin.last('/tagged').headers['x-pagecache-tags']).toBeUndefined()
    } finally {
      await shop.close()
    }
  })

  it('are sent to a trusted proxy on request, from the shop, from memory and on a bypassed page', async () => {
    const front = await openShop({ config: { trustedProxies: ['127.0.0.1'] } })
    try {
      const long = Array.from({ length: 250 }, (_, number) => `product-${String(number).padStart(32, '0')}`)
      front.origin.otherwise(() => tagged(long.join(' ')))
      for (let time = 0; time < 3; time++) {
        expect((await front.ask('/tagged')).headers.get('xkey')).toBeNull()
        expect((await front.ask('/tagged', ask)).headers.get('xkey')!.split(/[, ]+/)).toEqual(long)
      }
      expect((await front.ask('/account/x', ask)).headers.get('xkey')!.split(/[, ]+/)).toEqual(long)
    } finally {
      await front.close()
    }
  })
})
