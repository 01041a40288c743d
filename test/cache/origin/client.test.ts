import { describe, expect, it } from 'vitest'
import type { HeaderPair } from '../../../src/pages/page.ts'
import { until } from '../../helpers/until.ts'
import { ask, openClient, openRawShop, plain } from './raw-shop.ts'

const site: HeaderPair = ['host', 'shop.example']

describe('a request', () => {
  it('is sent as it is, with Host first and its bytes outside ASCII unchanged', async () => {
    const shop = await openRawShop((socket) => socket.write(plain('ok')))
    const headers: HeaderPair[] = [
      ['X-Name', 'v\xe4'],
      ['host', 'shop.example'],
      ['Cookie', 'a=b'],
    ]
    const { body } = await ask(openClient(), { origin: shop.url, target: '/\xe4?b', headers }).result
    expect(body).toBe('ok')
    expect(shop.connections[0]!.text).toBe(
      'GET /\xe4?b HTTP/1.1\r\nhost: shop.example\r\nX-Name: v\xe4\r\nCookie: a=b\r\nconnection: keep-alive\r\n\r\n',
    )
  })

  it.each<[name: string, request: { method?: string; target?: string; headers?: HeaderPair[]; body?: Buffer | null }]>([
    ['a line break in a value', { headers: [site, ['X', 'a\r\nY: b']] }],
    ['a line feed in disguise', { headers: [site, ['X', 'a\u010ab']] }],
    ['a blank in the target', { target: '/a HTTP/1.1' }],
    ['a line break in the method', { method: 'GET /x\r\n' }],
    ['a name that is none', { headers: [site, ['X Y', 'a']] }],
    ['two Hosts', { headers: [site, site] }],
    ['Transfer-Encoding of its own', { headers: [site, ['Transfer-Encoding', 'chunked']] }],
    ['a length without a body', { headers: [site, ['Content-Length', '5']] }],
    [
      'another length than its body',
      { method: 'POST', headers: [site, ['Content-Length', '5']], body: Buffer.from('x') },
    ],
    ['two lengths', { headers: [site, ['Content-Length', '0'], ['content-length', '0']] }],
  ])('with %s is not sent', async (_, request) => {
    const shop = await openRawShop((socket) => socket.write(plain('ok')))
    const { error } = await ask(openClient(), { origin: shop.url, ...request }).result
    expect(error?.message).toContain('cannot be sent')
    expect(shop.connections).toEqual([])
  })

  it('with a body of any bytes is sent with the same bytes', async () => {
    const body = Buffer.from(Array.from({ length: 512 }, (_, n) => n % 256))
    const shop = await openRawShop((socket, bytes) => bytes.endsWith('\xfe\xff') && socket.write(plain('ok')))
    const { result } = ask(openClient(), { origin: shop.url, method: 'POST', body })
    expect((await result).body).toBe('ok')
    const [head, sent] = shop.connections[0]!.text.split(/\r\n\r\n([^]*)/)
    expect(head).toContain('content-length: 512')
    expect(sent).toBe(body.toString('latin1'))
  })

  it('with a body in chunks is sent in chunks, each piece with the same bytes', async () => {
    const shop = await openRawShop((socket, bytes) => bytes.endsWith('0\r\n\r\n') && socket.write(plain('ok')))
    const { exchange, result } = ask(openClient(), { origin: shop.url, method: 'POST', body: 'stream' })
    exchange.write(Buffer.from('first '))
    exchange.write(Buffer.from('second'))
    exchange.end()
    expect((await result).body).toBe('ok')
    expect(shop.connections[0]!.text).toMatch(
      /transfer-encoding: chunked\r\n(?:.*\r\n)*\r\n6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n$/,
    )
  })

  it.each([
    ['more', 'longer', ['abc', 'd']],
    ['less', 'incomplete', ['ab']],
  ])(
    'with %s body than its Content-Length fails, and nothing follows on its connection',
    async (_, message, pieces) => {
      const shop = await openRawShop(() => {})
      const headers: HeaderPair[] = [site, ['Content-Length', '3']]
      const { exchange, result } = ask(openClient(), { origin: shop.url, method: 'POST', headers, body: 'stream' })
      for (const piece of pieces) exchange.write(Buffer.from(piece))
      exchange.end()
      expect((await result).error?.message).toContain(message)
      expect(shop.connections[0]?.text ?? '').not.toContain('abcd')
    },
  )

  it('with a large body waits for a shop that reads slowly', async () => {
    const shop = await openRawShop((socket) => socket.pause())
    let drained = 0
    const asked = ask(openClient(), { origin: shop.url, method: 'POST', body: 'stream' }, { onDrain: () => drained++ })
    await until(() => expect(drained).toBe(1))
    const piece = Buffer.alloc(1 << 20)
    let sent = 0
    while (asked.exchange.write(piece)) sent++
    expect(sent).toBeLessThan(16)
    shop.connections[0]!.socket.removeAllListeners('data')
      .on('data', () => {})
      .resume()
    await until(() => expect(drained).toBeGreaterThan(1))
    asked.exchange.abort()
  })

  it('of which the shop has read only the beginning gets its answer, and the connection carries no other', async () => {
    const shop = await openRawShop((socket, _, number) => number === 0 && socket.write(plain('too large')))
    const client = openClient()
    const { exchange, result } = ask(client, { origin: shop.url, method: 'POST', body: 'stream' })
    exchange.write(Buffer.from('beginning'))
    expect((await result).body).toBe('too large')
    exchange.write(Buffer.from('of no interest'))
    exchange.end()
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
    expect(shop.connections[0]!.text).not.toContain('interest')
  })

  const early = 'HTTP/1.1 413 Content Too Large\r\n'
  it.each([
    ['gets a response that came before', `${early}Content-Length: 5\r\nConnection: close\r\n\r\nlarge`, null],
    ['gets one on a connection that could be kept', `${early}Content-Length: 5\r\n\r\nlarge`, null],
    ['fails with half a response', `${early}Content-Length: 9\r\n\r\nlarge`, 'broken'],
    ['fails with a response that only the end of the connection ends', `${early}\r\nlarge`, 'broken'],
    ['fails without a response', '', 'unreachable'],
  ])('that a reset cuts off %s, and the connection carries no other', async (_, response, failure) => {
    const shop = await openRawShop((socket, __, number) => {
      if (number > 0) return void socket.write(plain('ok'))
      socket.write(response, () => socket.resetAndDestroy())
      // The client has not yet read what the kernel has received.
      socket.once('close', () => {
        exchange.write(Buffer.from('more'))
        exchange.write(Buffer.from('to the end'))
        exchange.end()
      })
    })
    const client = openClient()
    const { exchange, result } = ask(client, { origin: shop.url, method: 'POST', body: 'stream' })
    exchange.write(Buffer.from('beginning'))
    const { error, body } = await result
    expect(error?.failure ?? null).toBe(failure)
    if (failure === null) expect(body).toBe('large')
    expect((await ask(client, { origin: shop.url }).result).body).toBe('ok')
    expect(shop.connections).toHaveLength(2)
  })

  it('that was aborted ends its connection and reports nothing', async () => {
    const shop = await openRawShop((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
    const asked = ask(openClient(), { origin: shop.url }, { onError: () => expect.unreachable() })
    await until(() => expect(asked.soFar.body).toBe('half'))
    asked.exchange.abort()
    expect(asked.exchange.over).toBe(true)
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })
})

describe('a response that is not plain is read as undici reads it', () => {
  it.each([
    ['ends with its connection', 'HTTP/1.1 200 OK\r\n\r\nall of it', 'all of it'],
    ['is HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nall of it', 'all of it'],
    ['has trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\nX: y\r\n\r\n', 'all'],
    [
      'has chunk extensions',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=y\r\nll\r\n0\r\n\r\n',
      'all',
    ],
    ['has an early hint before it', 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall', 'all'],
  ])('one that %s', async (_, sent, body) => {
    for (const cut of [sent.length, 5, sent.length - 2]) {
      const shop = await openRawShop((socket) => {
        socket.write(sent.slice(0, cut))
        setImmediate(() => socket.end(sent.slice(cut)))
      })
      const result = await ask(openClient(), { origin: shop.url }).result
      expect(result).toMatchObject({
        body,
        error: null,
        head: { status: 200 },
        interim: sent.includes('103') ? [103] : [],
      })
    }
  })

  it.each([
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['has a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['has a length after a no-break space', 'HTTP/1.1 200 OK\r\nContent-Length: \xa02\r\n\r\nok'],
    ['is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
    ['has a head of 300 KiB', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(300 * 1024)}`],
    ['follows a thousand interim responses', `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)}${plain('ok')}`],
    [
      'follows a thousand odd interim responses',
      `${'HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: gzip\r\n\r\n'.repeat(1000)}${plain('ok')}`,
    ],
    ['has a chunk with an odd size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n0\r\n\r\n'],
  ])('one that %s is broken', async (_, sent) => {
    const shop = await openRawShop((socket) => socket.write(sent, 'latin1'))
    expect((await ask(openClient(), { origin: shop.url }).result).error).not.toBe(null)
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })

  it.each(['000', '099', '600', '999'])('one that has the status %s is broken', async (status) => {
    const shop = await openRawShop((socket) => socket.write(plain('ok').replace('200', status)))
    const result = await ask(openClient(), { origin: shop.url }).result
    expect(result).toMatchObject({ head: null, interim: [], error: { failure: 'broken' } })
  })

  it.each(['gzip, chunked', 'chunked, gzip', 'gzip', 'identity', 'chunked, chunked', ''])(
    'one with the Transfer-Encoding %j is broken',
    async (coding) => {
      const shop = await openRawShop((socket) =>
        socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
      )
      const result = await ask(openClient(), { origin: shop.url }).result
      expect(result).toMatchObject({ head: null, body: '', error: { failure: 'broken' } })
    },
  )

  it.each(['HTTP/1.1 200 OK\r\n\r\nhalf', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', 'HTTP/1.1 200 OK\r\n'])(
    'one that a reset ends is broken: %j',
    async (sent) => {
      const shop = await openRawShop((socket) => socket.write(sent, () => setImmediate(() => socket.resetAndDestroy())))
      expect((await ask(openClient(), { origin: shop.url }).result).error?.failure).toBe('broken')
    },
  )
})
