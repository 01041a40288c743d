import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mayBeBan, readBan, readPurge } from '../../../src/http/purge/ban-request.ts'
import { examine } from '../../../src/http/front/guard.ts'
import { toPairs } from '../../../src/cache/fields.ts'
import { random } from '../../helpers/random.ts'
import { speak } from '../front/wire.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

describe('a PURGE read from the start of a chunk', () => {
  it('is exactly one valid request, and what follows is left', () => {
    const text = 'PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: a b\r\nConnection: close\r\n\r\n'
    const headers = [
      ['Host', 'varnish'],
      ['xkey', 'a b'],
      ['Connection', 'close'],
    ]
    expect(readPurge(bytes(`${text}PURGE`))).toEqual({
      kind: 'whole',
      head: { method: 'PURGE', target: '/', version: '1.1', headers },
      length: text.length,
      close: true,
    })
  })

  it.each([
    ['an incomplete head', 'PURGE / HTTP/1.1\r\nHost: a\r\n\r'],
    ['a longer method', 'PURGEKEYS / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a body', 'PURGE / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc'],
    ['chunks', 'PURGE / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a client that waits for 100', 'PURGE / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n'],
    ['an absolute target', 'PURGE http://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['HTTP/1.0', 'PURGE / HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['a folded field', 'PURGE / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n'],
    ['a forwarded address', 'PURGE / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n'],
    ['a forwarded host', 'PURGE / HTTP/1.1\r\nHost: a\r\nForwarded: host=b\r\n\r\n'],
    ['a head that is too long', `PURGE / HTTP/1.1\r\nHost: a\r\nxkey: ${'a'.repeat(70_000)}\r\n\r\n`],
  ])('is left to Node with %s', (_, text) => {
    expect(readPurge(bytes(text))).toBeNull()
  })
})

describe('a BAN read from bytes', () => {
  it('is exactly one valid request', () => {
    const text = 'BAN /detail/.* HTTP/1.1\r\nHost: varnish\r\nUser-Agent: GuzzleHttp/7\r\n\r\n'
    expect(readBan(bytes(`${text}GET / HTTP/1.1\r\n`))).toEqual({
      kind: 'whole',
      head: {
        method: 'BAN',
        target: '/detail/.*',
        version: '1.1',
        headers: [
          ['Host', 'varnish'],
          ['User-Agent', 'GuzzleHttp/7'],
        ],
      },
      length: text.length,
      close: false,
    })
  })

  it.each([
    ['nothing', '', false],
    ['B', 'B', false],
    ['BAN', 'BAN', false],
    ['PURGEK', 'PURGEK', false],
    ['BAN and a blank', 'BAN ', true],
    ['a request line', 'BAN / HTTP/1.1\r\n', true],
    ['all but the last byte', 'BAN / HTTP/1.1\r\nHost: a\r\n\r', true],
  ])('waits for the rest of %s', (_, text, named) => {
    expect(readBan(bytes(text))).toEqual({ kind: 'partial', named })
  })

  it.each([
    ['another method', 'BIND / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a longer method', 'BANS / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['PURGE', 'PURGE / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['lower case', 'ban / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['HTTP/1.0', 'BAN / HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['two blanks', 'BAN  / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a blank in the target', 'BAN /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a target without a slash', 'BAN a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['no field', 'BAN / HTTP/1.1\r\n\r\n'],
    ['a folded field', 'BAN / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n'],
    ['a blank before the colon', 'BAN / HTTP/1.1\r\nHost : a\r\n\r\n'],
    ['a line feed alone', 'BAN / HTTP/1.1\nHost: a\n\r\n\r\n'],
    ['NUL', 'BAN / HTTP/1.1\r\nHost: a\0\r\n\r\n'],
    ['a body', 'BAN / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc'],
    ['two lengths', 'BAN / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\nabc'],
    ['chunks', 'BAN / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['an upgrade', 'BAN / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n'],
    ['a head that is too large', `BAN / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(70_000)}\r\n\r\n`],
    ['one that never ends', `BAN / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(70_000)}`],
  ])('leaves %s to the parser', (_, text) => {
    expect(readBan(bytes(text)).kind).toBe('other')
  })

  it('recognises Connection: close', () => {
    const close = (value: string) => readBan(bytes(`BAN / HTTP/1.1\r\nHost: a\r\nConnection: ${value}\r\n\r\n`))
    expect(
      [close('close'), close('Keep-Alive, Close'), close('keep-alive'), close('closed')].map(
        (reading) => reading.kind === 'whole' && reading.close,
      ),
    ).toEqual([true, true, false, false])
  })

  it('costs other requests one comparison', () => {
    for (const text of ['GET / HTTP/1.1', 'POST /', 'PUT /', 'PATCH /', 'PURGE /'])
      expect(mayBeBan(bytes(text))).toBe(false)
    for (const text of ['B', 'BAN /', 'P', 'PURGE', 'PURGEKEYS /']) expect(mayBeBan(bytes(text))).toBe(true)
  })
})

/** Node's parser is asked about the same message under a method that it knows. */
describe('compared with Node', () => {
  const seen: IncomingMessage[] = []
  let server: ReturnType<typeof createServer>
  beforeAll(async () => {
    server = createServer({ requireHostHeader: false, maxHeaderSize: 1 << 20 }, (request, response) => {
      seen.push(request)
      response.setHeader('X-Number', String(seen.length - 1))
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server.close())

  const lines = [
    'Host: shop.example',
    'host:\tshop.example ',
    'Accept: */*',
    'xkey: a b,c',
    'Content-Length: 0',
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    'Connection: close',
    'Connection: keep-alive',
    'X: \x80',
    'X: \x01',
    'X : a',
    ' folded',
    'no colon',
    ': none',
    'X-Empty:',
    'Expect: 100-continue',
    'Upgrade: x',
    'X: a\rb',
    'X: a\nb',
  ]
  const noise = ['\r', '\n', '\0', ' ', '\t', ':', '\r\n', '\r\n\r\n', '\x7f', '/', 'B']

  function request(next: () => number): string {
    const pick = <T>(from: readonly T[]) => from[Math.floor(next() * from.length)]!
    const fields = next() < 0.8 ? ['Host: shop.example'] : []
    for (let count = Math.floor(next() * 4); count > 0; count--) fields.push(pick(lines))
    let text = `BAN ${pick(['/', '/x.*', '/a|b', '/x#y', '*', '/\xe4', '/"'])} HTTP/1.${next() < 0.95 ? 1 : 0}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`
    if (next() < 0.2) text += pick(['\r\n', 'GET / HTTP/1.1\r\n\r\n', 'hello'])
    for (let count = Math.floor(next() * 1.6); count > 0; count--) {
      const at = 4 + Math.floor(next() * (text.length - 4))
      text = text.slice(0, at) + pick(noise) + text.slice(at + Math.floor(next() * 2))
    }
    return text
  }

  it('accepts only what Node and the guard read as the same single request', async () => {
    const next = random(20_261_121)
    const whole = Array.from({ length: 6000 }, () => request(next)).flatMap((text) => {
      const reading = readBan(bytes(text))
      return reading.kind === 'whole' ? [{ text, reading }] : []
    })
    expect(whole.length).toBeGreaterThan(500)
    expect(whole.length).toBeLessThan(5500)
    for (let at = 0; at < whole.length; at += 50)
      await Promise.all(whole.slice(at, at + 50).map((each) => compare(each.text, each.reading)))
  })

  async function compare(
    text: string,
    { head, length, close }: Extract<ReturnType<typeof readBan>, { kind: 'whole' }>,
  ): Promise<void> {
    // The message that we saw, under a name that Node knows, and one behind it: nothing is left over, nothing is swallowed.
    const known = `GET ${text.slice(4, length)}`
    const marker = 'POST /end HTTP/1.1\r\nHost: end\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    const { answers } = await speak((server.address() as AddressInfo).port, known + (close ? '' : marker))
    expect({ text, statuses: answers.map((answer) => answer.status) }).toEqual({
      text,
      statuses: close ? [200] : [200, 200],
    })
    const node = seen[Number(answers[0]!.headers['x-number'])]!
    expect({ text, target: node.url, headers: toPairs(node.rawHeaders) }).toEqual({
      text,
      target: head.target,
      headers: head.headers,
    })
    if (!close) expect(seen[Number(answers[1]!.headers['x-number'])]!.url).toBe('/end')
    expect(examine({ ...head, method: 'GET' }, false)).toEqual(examine(head, false))
  }
})
