import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../src/demo/gateway.ts'
import { speak } from '../http/front/wire.ts'
import { fill, gone, shop, useShop } from './purge-shop.ts'

useShop()

describe("what Shopware's gateway sends, byte for byte", () => {
  const guzzle = (method: 'PURGE' | 'BAN', target: string, tags?: readonly string[]) =>
    gatewayRequest(method, target, 'varnish:6081', tags)

  it('invalidate: PURGE / with its tags does not purge the home page', async () => {
    await fill('/', '/product-0190c0de', '/other')
    const { answers } = await speak(shop.port, guzzle('PURGE', '/', ['product-0190c0de', 'category-route-1']), {
      answers: 1,
    })
    expect(answers[0]).toMatchObject({ status: 200, body: 'Invalidated 1 objects' })
    expect(await gone('/', '/product-0190c0de', '/other')).toEqual(['/product-0190c0de'])
  })

  it('fifty tags, and many more', async () => {
    const names = Array.from({ length: 1500 }, (_, number) => `product-${String(number).padStart(32, '0')}`)
    await fill(`/${names[49]}`, `/${names[1400]}`, '/other')
    const fifty = await speak(shop.port, guzzle('PURGE', '/', names.slice(0, 50)), { answers: 1 })
    expect(fifty.answers[0]!.body).toBe('Invalidated 1 objects')
    const many = await speak(shop.port, guzzle('PURGE', '/', names), { answers: 1 })
    expect(many.answers[0]).toMatchObject({ status: 200, body: 'Invalidated 1 objects' })
    expect(await gone('/other')).toEqual([])
  })

  it('ban: PURGE of a path with the Host of the proxy purges that path on every channel', async () => {
    await fill('/a', '/b')
    const { answers } = await speak(shop.port, guzzle('PURGE', '/a'), { answers: 1 })
    expect(answers[0]).toMatchObject({ status: 200, body: 'Purged' })
    expect(await gone('/a', '/b')).toEqual(['/a'])
  })

  it('banAll: BAN /', async () => {
    await fill('/', '/a')
    const { answers, closed } = await speak(shop.port, guzzle('BAN', '/'), { answers: 1 })
    expect(answers[0]!.status).toBe(200)
    expect(closed).toBe(false)
    expect(await gone('/', '/a')).toEqual(['/', '/a'])
  })

  it('all of it on one connection', async () => {
    await fill('/a', '/b', '/c')
    const requests = [guzzle('PURGE', '/', ['a']), guzzle('PURGE', '/b'), guzzle('BAN', '/')]
    const { answers } = await speak(shop.port, requests.join(''), { answers: 3 })
    expect(answers.map((answer) => [answer.status, answer.body.split(' ')[0]])).toEqual([
      [200, 'Invalidated'],
      [200, 'Purged'],
      [200, 'Banned'],
    ])
    expect(await gone('/a', '/b', '/c')).toEqual(['/a', '/b', '/c'])
  })
})

describe('what FOSHttpCache sends', () => {
  const fields = 'X-Host: .*\r\nX-Url: .*\r\nX-Content-Type: .*\r\n'

  it('invalidateTags by BAN purges those tags and nothing else', async () => {
    await fill('/tag-1', '/tag-2', '/tag-10')
    const { answers } = await speak(
      shop.port,
      `BAN / HTTP/1.1\r\nHost: shop.example\r\n${fields}X-Cache-Tags: (^|,)(tag\\-1|tag\\-2)(,|$)\r\n\r\n`,
      { answers: 1 },
    )
    expect(answers[0]!.status).toBe(200)
    expect(await gone('/tag-1', '/tag-2', '/tag-10')).toEqual(['/tag-1', '/tag-2'])
  })

  it('invalidateTags by PURGEKEYS marks them as stale', async () => {
    await fill('/a', '/b')
    const { answers } = await speak(
      shop.port,
      'PURGEKEYS / HTTP/1.1\r\nHost: shop.example\r\nxkey-softpurge: a c\r\n\r\n',
      { answers: 1 },
    )
    expect(answers[0]).toMatchObject({ status: 200, body: 'Invalidated 1 objects' })
    expect(await gone('/a', '/b')).toEqual(['/a'])
  })

  it('invalidateRegex purges the pages that X-Url matches', async () => {
    await fill('/blog/1', '/shop/blog/2')
    await speak(
      shop.port,
      `BAN / HTTP/1.1\r\nHost: shop.example\r\n${fields.replace('X-Url: .*', 'X-Url: ^/blog/')}\r\n`,
      { answers: 1 },
    )
    expect(await gone('/blog/1', '/shop/blog/2')).toEqual(['/blog/1'])
  })
})

it('the invalidation log names the way, the address and what was asked for', async () => {
  const requests = ['BAN /', 'BAN /x.*', 'PURGE /path', 'PURGE /\r\nxkey: a']
  for (const request of requests) {
    const [line, field] = request.split('\r\n')
    await speak(shop.port, `${line} HTTP/1.1\r\nHost: proxy\r\n${field === undefined ? '' : `${field}\r\n`}\r\n`, {
      answers: 1,
    })
  }
  const { stdout } = await shop.daemon.run('invalidation-log:recent', '--limit', '4', '--json')
  const { items } = JSON.parse(stdout) as {
    items: { source: string; actor: string; scope: string; value: string | null }[]
  }
  expect(items.toReversed().map(({ source, actor, scope, value }) => [source, actor, scope, value])).toEqual([
    ['purge-method', '127.0.0.1', 'all', null],
    ['purge-method', '127.0.0.1', 'pattern', '/x.*'],
    ['purge-method', '127.0.0.1', 'urls', `${shop.daemon.url}/path`],
    ['purge-method', '127.0.0.1', 'tags', 'a'],
  ])
})

it('the reason phrase is the text', async () => {
  const socket = connect(shop.port, '127.0.0.1')
  const text = await new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString('latin1')))
    socket.write('PURGE / HTTP/1.1\r\nHost: proxy\r\nxkey: none\r\n\r\n')
  })
  socket.destroy()
  expect(text).toMatch(/^HTTP\/1\.1 200 Invalidated 0 objects\r\n/)
})

it('xkey repeats, blanks and commas separate', async () => {
  await fill('/a', '/b', '/c', '/d')
  const { answers } = await speak(shop.port, 'PURGE /d HTTP/1.1\r\nHost: proxy\r\nxkey: a, b\r\nXkey:c\r\n\r\n', {
    answers: 1,
  })
  expect(answers[0]!.body).toBe('Invalidated 3 objects')
  expect(await gone('/a', '/b', '/c', '/d')).toEqual(['/a', '/b', '/c'])
})

it('a request without tags purges nothing', async () => {
  await fill('/', '/a')
  const { answers } = await speak(shop.port, 'PURGE / HTTP/1.1\r\nHost: proxy\r\nxkey: , \r\n\r\n', { answers: 1 })
  expect(answers[0]).toMatchObject({ status: 200, body: 'Invalidated 0 objects' })
  expect(await gone('/', '/a')).toEqual([])
})

it('every variant of a URL is purged', async () => {
  const ask = (cookie: string) => shop.ask('/variants', { headers: { cookie } })
  await ask('sw-currency=eur')
  await ask('sw-currency=usd')
  await speak(shop.port, `PURGE /variants HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`, { answers: 1 })
  shop.origin.forget()
  await ask('sw-currency=eur')
  await ask('sw-currency=usd')
  expect(shop.origin.hits('/variants')).toBe(2)
})

it('BAN of an expression purges the matching pages', async () => {
  await fill('/detail/1', '/detail/2', '/list')
  const { answers } = await speak(shop.port, 'BAN /detail/.* HTTP/1.1\r\nHost: proxy\r\n\r\n', { answers: 1 })
  expect(answers[0]).toMatchObject({ status: 200, body: 'Banned 2 pages' })
  expect(await gone('/detail/1', '/detail/2', '/list')).toEqual(['/detail/1', '/detail/2'])
})

it('a costly expression is evaluated like any other', async () => {
  const path = `/${'a'.repeat(5000)}`
  await fill(`${path}b`, '/aaa')
  const { answers } = await speak(shop.port, 'BAN /(a+)+$ HTTP/1.1\r\nHost: proxy\r\n\r\n', { answers: 1 })
  expect(answers[0]).toMatchObject({ status: 200, body: 'Banned 1 page' })
  expect(await gone(`${path}b`, '/aaa')).toEqual(['/aaa'])
})

it.each([
  ['what is no expression', 'BAN /(a HTTP/1.1\r\nHost: proxy\r\n\r\n'],
  ['a reference back', 'BAN /(a)\\1 HTTP/1.1\r\nHost: proxy\r\n\r\n'],
  ['a tag that is too long', `PURGE / HTTP/1.1\r\nHost: proxy\r\nxkey: ${'a'.repeat(2000)}\r\n\r\n`],
  ['a BAN without Host', 'BAN / HTTP/1.1\r\nX: a\r\n\r\n'],
  ['a BAN with two Hosts', 'BAN / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
])('%s is rejected and purges nothing', async (_, request) => {
  await fill('/kept')
  const { answers } = await speak(shop.port, request, { answers: 1 })
  expect(answers[0]!.status).toBe(400)
  expect(await gone('/kept')).toEqual([])
})

it('control characters and a hundred thousand tags are rejected, and the daemon keeps running', async () => {
  await fill('/kept')
  for (const value of ['a\0b', 'a\x01b', Array.from({ length: 100_000 }, (_, number) => `t${number}`).join(' ')]) {
    const { answers } = await speak(shop.port, `PURGE / HTTP/1.1\r\nHost: proxy\r\nxkey: ${value}\r\n\r\n`)
    expect([400, 431]).toContain(answers[0]!.status)
  }
  expect(await gone('/kept')).toEqual([])
})
