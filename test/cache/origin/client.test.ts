import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HeaderPair } from '../../../src/pages/page.ts'
import { installed } from '../../helpers/rivals.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { ask, openClient, openRawShop, plain } from './raw-shop.ts'
import { until } from '../../helpers/until.ts'

const site: HeaderPair = ['host', 'shop.example']
/** A turn of the event loop, after which a connection is kept. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

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

  it('that was aborted ends its connection and reports nothing', async () => {
    const shop = await openRawShop((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
    const asked = ask(openClient(), { origin: shop.url }, { onError: () => expect.unreachable() })
    await until(() => expect(asked.soFar.body).toBe('half'))
    asked.exchange.abort()
    expect(asked.exchange.over).toBe(true)
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })
})

describe('a connection', () => {
  it('carries one request after the other', async () => {
    const shop = await openRawShop((socket) => socket.write(plain('ok')))
    const client = openClient()
    for (let count = 0; count < 5; count++) {
      expect((await ask(client, { origin: shop.url }).result).body).toBe('ok')
      await turn()
    }
    expect(shop.connections).toHaveLength(1)
  })

  const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'
  it.each([
    ['a whole response', 'GET', plain('ok') + forged],
    ['one byte', 'GET', `${plain('ok')}x`],
    [
      'a whole response after the last chunk',
      'GET',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${forged}`,
    ],
    ['a body after the response to HEAD', 'HEAD', plain('ok')],
    ['a body after 304', 'GET', `HTTP/1.1 304 Not Modified\r\n\r\n${forged}`],
    ['nothing yet, after a 204 that announces a body', 'GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 43\r\n\r\n'],
    ['nothing, after Connection: close', 'GET', plain('ok', 'Connection: close\r\n')],
    ['nothing, after Keep-Alive: timeout=1', 'GET', plain('ok', 'Keep-Alive: timeout=1\r\n')],
    ['trailers', 'GET', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n'],
  ])('on which the shop sends %s is not used again', async (_, method, sent) => {
    const shop = await openRawShop((socket, __, number) => socket.write(number === 0 ? sent : plain('own')))
    const client = openClient()
    expect((await ask(client, { origin: shop.url, method }).result).error).toBe(null)
    await turn()
    expect((await ask(client, { origin: shop.url }).result).body).toBe('own')
    expect(shop.connections).toHaveLength(2)
  })

  it('on which something comes without a request is not used again', async () => {
    const shop = await openRawShop((socket, _, number) => socket.write(plain(String(number))))
    const client = openClient()
    await ask(client, { origin: shop.url }).result
    await turn()
    const { socket } = shop.connections[0]!
    socket.write(forged)
    await until(() => expect(socket.destroyed).toBe(true))
    expect((await ask(client, { origin: shop.url }).result).body).toBe('1')
  })

  it('that the shop closes instead of a response is replaced once, for a GET', async () => {
    const shop = await openRawShop((socket, _, number) => (number === 0 ? socket.destroy() : socket.write(plain('ok'))))
    expect((await ask(openClient(), { origin: shop.url }).result).body).toBe('ok')
    expect(shop.connections).toHaveLength(2)
  })

  it.each([
    ['a second time', { method: 'GET' }, 2],
    ['for a POST', { method: 'POST', body: Buffer.from('x') }, 1],
  ])('that the shop closes instead of a response is not replaced %s', async (_, request, count) => {
    const shop = await openRawShop((socket) => socket.destroy())
    const { error } = await ask(openClient(), { origin: shop.url, ...request }).result
    expect(error?.failure).toBe('unreachable')
    expect(shop.connections).toHaveLength(count)
  })

  it('is made to an IPv6 address', async () => {
    const shop = await openRawShop((socket) => socket.write(plain('ok')), '::1')
    expect((await ask(openClient(), { origin: shop.url }).result).body).toBe('ok')
  })

  it('that is refused fails at once', async () => {
    expect((await ask(openClient(), { origin: 'http://127.0.0.1:1' }).result).error?.failure).toBe('unreachable')
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
    ['is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
    ['has a head of 300 KiB', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(300 * 1024)}`],
    ['has a chunk with an odd size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n0\r\n\r\n'],
  ])('one that %s is broken', async (_, sent) => {
    const shop = await openRawShop((socket) => socket.write(sent))
    expect((await ask(openClient(), { origin: shop.url }).result).error).not.toBe(null)
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })

  it.each(['HTTP/1.1 200 OK\r\n\r\nhalf', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', 'HTTP/1.1 200 OK\r\n'])(
    'one that a reset ends is broken: %j',
    async (sent) => {
      const shop = await openRawShop((socket) => socket.write(sent, () => setImmediate(() => socket.resetAndDestroy())))
      expect((await ask(openClient(), { origin: shop.url }).result).error?.failure).toBe('broken')
    },
  )
})

describe('a shop that is too slow', () => {
  it.each([
    ['for its head', { headers: 30 }, '', 'headers'],
    ['for the rest of its head', { headers: 30 }, 'HTTP/1.1 200 OK\r\n', 'headers'],
    ['for its body', { idle: 30 }, 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', 'idle'],
    ['for its last chunk', { idle: 30 }, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n', 'idle'],
    ['for the end of its connection', { idle: 30 }, 'HTTP/1.0 200 OK\r\n\r\nhalf', ''],
  ])('%s', async (_, timeouts, sent, message) => {
    const shop = await openRawShop((socket) => void socket.write(sent))
    const { error } = await ask(openClient(timeouts), { origin: shop.url }).result
    expect(error).toMatchObject({ failure: 'timeout', message: expect.stringContaining(message) as string })
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })

  it('has no deadline while its reader pauses', async () => {
    const shop = await openRawShop((socket) => void socket.write(plain('x'.repeat(200_000))))
    const asked = ask(
      openClient({ idle: 1000 }),
      { origin: shop.url },
      { onData: (piece) => ((asked.soFar.body += String(piece)), false) },
    )
    await until(() => expect(asked.soFar.body).not.toBe(''))
    const before = asked.soFar.body.length
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(asked.soFar.body.length).toBe(before)
    const reading = setInterval(() => asked.exchange.resume(), 1)
    expect((await asked.result).error).toBe(null)
    clearInterval(reading)
    expect(asked.soFar.body).toHaveLength(200_000)
  })

  it('a body that is held back comes whole when it is resumed', async () => {
    const shop = await openRawShop((socket) => void socket.write(`${plain('held')}`))
    const asked = ask(openClient(), { origin: shop.url }, { onHead: () => false })
    await until(() => expect(shop.connections[0]?.text).toContain('GET'))
    await turn()
    expect(asked.soFar.body).toBe('')
    await until(() => (asked.exchange.resume(), expect(asked.soFar.body).toBe('held')))
    await asked.result
  })

  it('a response that was held back to its end leaves the connection to the next request', async () => {
    const shop = await openRawShop((socket) => void socket.write(plain('held')))
    const client = openClient()
    const asked = ask(
      client,
      { origin: shop.url },
      { onHead: () => (setImmediate(() => asked.exchange.resume()), false) },
    )
    await asked.result
    await turn()
    expect((await ask(client, { origin: shop.url }).result).body).toBe('held')
    expect(shop.connections).toHaveLength(1)
  })
})

describe('as streams', () => {
  it('a request body is sent, and the response is read as fast as its reader takes it', async () => {
    const shop = await openRawShop((socket, bytes) => bytes.endsWith('end') && socket.write(plain('x'.repeat(500_000))))
    const headers: HeaderPair[] = [site, ['content-length', '9']]
    const { status, body } = await openClient().send({
      origin: shop.url,
      method: 'POST',
      target: '/',
      headers,
      body: Readable.from([Buffer.from('begin '), Buffer.from('end')]),
      signal: null,
      onInterim: () => {},
    })
    expect([status, (await text(body)).length]).toEqual([200, 500_000])
  })

  it('the limit for the whole response holds until it is extended', async () => {
    const shop = await openRawShop((socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
    const request = {
      origin: shop.url,
      method: 'GET',
      target: '/',
      headers: [site],
      body: null,
      signal: null,
      limit: 1000,
      onInterim: () => {},
    }
    const limited = await openClient().send(request)
    await expect(text(limited.body)).rejects.toMatchObject({ failure: 'timeout' })
    const extended = await openClient().send(request)
    extended.extend()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(extended.body.errored).toBe(null)
    extended.body.destroy()
  })

  it('a signal ends the exchange with its reason', async () => {
    const shop = await openRawShop(() => {})
    const aborting = new AbortController()
    const sent = openClient().send({
      origin: shop.url,
      method: 'GET',
      target: '/',
      headers: [site],
      body: null,
      signal: aborting.signal,
      onInterim: () => {},
    })
    await until(() => expect(shop.connections).toHaveLength(1))
    aborting.abort(new Error('enough'))
    await expect(sent).rejects.toThrow('enough')
    await until(() => expect(shop.connections[0]!.socket.destroyed).toBe(true))
  })
})

const hasOpenssl = installed('openssl')

describe.skipIf(!hasOpenssl)(`a certificate${hasOpenssl ? '' : ' (no openssl on this machine)'}`, () => {
  async function openTlsShop() {
    const directory = await tempDir()
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const subject = ['-subj', '/CN=shop.example', '-addext', 'subjectAltName=DNS:shop.example']
    execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    const pair = { key: readFileSync(key), cert: readFileSync(cert, 'utf8') }
    const shop = await openRawShop(
      (socket) => socket.write(plain('ok'.repeat(50_000))),
      '127.0.0.1',
      (listener) => createTlsServer(pair, listener),
    )
    return { ...shop, origin: `https://127.0.0.1:${shop.port}`, cert: pair.cert }
  }

  it('that is not trusted fails the request before anything of it is sent', async () => {
    const { origin, connections } = await openTlsShop()
    const { error } = await ask(openClient(), { origin }).result
    expect(error).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('certificate') as string })
    expect(connections.map((each) => each.text).join('')).toBe('')
  })

  it('is checked for the name in the Host field, and a connection is used for that name only', async () => {
    const { origin, cert, connections } = await openTlsShop()
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, cert])
    onTestFinished(() => setDefaultCACertificates(trusted))
    const client = openClient()
    for (let count = 0; count < 3; count++) {
      expect((await ask(client, { origin }).result).body).toHaveLength(100_000)
      await turn()
    }
    expect(connections).toHaveLength(1)
    const { error } = await ask(client, { origin, headers: [['host', 'other.example']] }).result
    expect(error?.message).toContain('other.example')
    expect(connections.map((each) => each.text).join('')).not.toContain('other.example')
  })
})
