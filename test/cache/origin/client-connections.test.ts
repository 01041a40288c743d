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
    [
      'nothing yet, after a response to HEAD that announces a body',
      'HEAD',
      'HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n',
    ],
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
