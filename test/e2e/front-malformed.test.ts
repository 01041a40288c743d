import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { speak } from '../http/front/wire.ts'
import { openShop, type Shop } from '../http/api/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

/** A request hidden after another one whose end two servers would see in different places. */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n'
const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`
const post = (fields: string, body: string) => `POST /form HTTP/1.1\r\nHost: HOST\r\n${fields}\r\n\r\n${body}`
const get = (fields: string) => `GET /page HTTP/1.1\r\nHost: HOST\r\n${fields}\r\n\r\n${smuggled}`

/** Requests that get one 400 and a closed connection, and never reach the shop. */
const refused: Record<string, string> = {
  'Content-Length and chunked': post('Content-Length: 4\r\nTransfer-Encoding: chunked', `0\r\n\r\n${smuggled}`),
  'chunked and Content-Length': post('Transfer-Encoding: chunked\r\nContent-Length: 4', `0\r\n\r\n${smuggled}`),
  'two Content-Lengths that differ': post('Content-Length: 0\r\nContent-Length: 44', smuggled),
  'two equal Content-Lengths': post('Content-Length: 0\r\nContent-Length: 0', smuggled),
  'a list in Content-Length': post('Content-Length: 5, 5', `hello${smuggled}`),
  'a plus in Content-Length': post('Content-Length: +5', `hello${smuggled}`),
  'a minus in Content-Length': post('Content-Length: -5', `hello${smuggled}`),
  'a hexadecimal Content-Length': post('Content-Length: 0x5', `hello${smuggled}`),
  'a fraction in Content-Length': post('Content-Length: 5.0', `hello${smuggled}`),
  'a space in Content-Length': post('Content-Length: 1 5', `hello${smuggled}`),
  'an empty Content-Length': post('Content-Length:', smuggled),
  'a Content-Length beyond 64 bits': post('Content-Length: 18446744073709551621', `hello${smuggled}`),
  'an unknown coding': post('Transfer-Encoding: xchunked', `0\r\n\r\n${smuggled}`),
  'chunked before another coding': post('Transfer-Encoding: chunked, identity', `0\r\n\r\n${smuggled}`),
  'another coding before chunked': post('Transfer-Encoding: gzip, chunked', `0\r\n\r\n${smuggled}`),
  identity: post('Transfer-Encoding: identity', smuggled),
  'chunked twice': post('Transfer-Encoding: chunked, chunked', `0\r\n\r\n${smuggled}`),
  'two Transfer-Encodings': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', `0\r\n\r\n${smuggled}`),
  'two Transfer-Encodings, the second odd': post(
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
    `0\r\n\r\n${smuggled}`,
  ),
  'quoted chunked': post('Transfer-Encoding: "chunked"', `0\r\n\r\n${smuggled}`),
  'chunked with a parameter': post('Transfer-Encoding: chunked;q=1', `0\r\n\r\n${smuggled}`),
  'an empty Transfer-Encoding': post('Transfer-Encoding:', smuggled),
  'a vertical tab in Transfer-Encoding': post('Transfer-Encoding: \x0bchunked', `0\r\n\r\n${smuggled}`),
  'a space before the colon': post('Transfer-Encoding : chunked', `0\r\n\r\n${smuggled}`),
  'a tab before the colon': post('Transfer-Encoding\t: chunked', `0\r\n\r\n${smuggled}`),
  'a space before the name': get(' Transfer-Encoding: chunked'),
  'a folded field': get('X-One: a\r\n b'),
  'a folded Transfer-Encoding': post('Transfer-Encoding:\r\n chunked', `0\r\n\r\n${smuggled}`),
  'a bare line feed between fields': `GET /page HTTP/1.1\nHost: HOST\n\n${smuggled}`,
  'a bare line feed after the request line': `GET /page HTTP/1.1\nHost: HOST\r\n\r\n${smuggled}`,
  'a bare line feed at the end of the head': `GET /page HTTP/1.1\r\nHost: HOST\r\n\n${smuggled}`,
  'a bare carriage return': get('X-One: a\rTransfer-Encoding: chunked'),
  'a bare carriage return after the request line': `GET /page HTTP/1.1\rHost: HOST\r\n\r\n${smuggled}`,
  'NUL in a value': get('X-One: a\0b'),
  'NUL in a name': get('X-\0One: a'),
  'NUL in the target': `GET /pa\0ge HTTP/1.1\r\nHost: HOST\r\n\r\n${smuggled}`,
  'a control character in a value': get('X-One: a\x01b'),
  'an empty name': get(': value'),
  'a field without a colon': get('X-One'),
  'a name with a space': get('X One: a'),
  'a name beyond ASCII': get('X-\xd6ne: a'),
  'a name in parentheses': get('(X): a'),
  'HTTP/1.0 with chunks': `POST /form HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/1.1 misspelt': `GET /page HTTP/1.1x\r\nHost: HOST\r\n\r\n${smuggled}`,
  'lower-case http': `GET /page http/1.1\r\nHost: HOST\r\n\r\n${smuggled}`,
  'a space in the target': `GET /pa ge HTTP/1.1\r\nHost: HOST\r\n\r\n${smuggled}`,
  'no target': `GET HTTP/1.1\r\nHost: HOST\r\n\r\n${smuggled}`,
  'a method in lower case': `get /page HTTP/1.1\r\nHost: HOST\r\n\r\n${smuggled}`,
  'bytes of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a huge chunk size': post('Transfer-Encoding: chunked', `ffffffffffffffffff\r\n${smuggled}`),
  'a negative chunk size': post('Transfer-Encoding: chunked', `-1\r\n${smuggled}`),
  'a chunk size with 0x': post('Transfer-Encoding: chunked', `0x1\r\na\r\n0\r\n\r\n${smuggled}`),
  'a chunk size with a space': post('Transfer-Encoding: chunked', `1 1\r\na\r\n0\r\n\r\n${smuggled}`),
  'a chunk that is longer than its size': post('Transfer-Encoding: chunked', `1\r\nabc\r\n0\r\n\r\n${smuggled}`),
  'a chunk that ends with a bare line feed': post('Transfer-Encoding: chunked', `1\r\na\n0\r\n\r\n${smuggled}`),
  'a chunk size that ends with a bare line feed': post('Transfer-Encoding: chunked', `1\na\r\n0\r\n\r\n${smuggled}`),
  'a carriage return in a chunk extension': post('Transfer-Encoding: chunked', `1;a\rb\r\na\r\n0\r\n\r\n${smuggled}`),
  'a line feed in a chunk extension': post('Transfer-Encoding: chunked', `1;a\nb\r\na\r\n0\r\n\r\n${smuggled}`),
  'an empty chunk size': post('Transfer-Encoding: chunked', `\r\na\r\n0\r\n\r\n${smuggled}`),
  'a chunk extension without end': post(
    'Transfer-Encoding: chunked',
    `1;${'x'.repeat(100_000)}\r\na\r\n0\r\n\r\n${smuggled}`,
  ),
}

describe('malformed requests get one 400 and a closed connection', () => {
  it.each(Object.entries(refused))('%s', async (_, request) => {
    const { answers, rest, closed } = await speak(shop.port, request.replaceAll('HOST', shop.host))
    expect(answers.map((answer) => answer.status)).toEqual([400])
    expect({ rest, closed }).toEqual({ rest: '', closed: true })
    expect(answers[0]!.headers['connection']).toBe('close')
    expect(shop.origin.hits('/smuggled')).toBe(0)
  })
})

describe('unusual but unambiguous requests are served', () => {
  const served: Record<string, { request: string; methods?: string[]; statuses: number[] }> = {
    'empty lines before the request': {
      request: '\r\n\r\nGET /page HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n',
      statuses: [200],
    },
    'tabs and spaces around a value': {
      request: 'GET /page HTTP/1.1\r\nHost: \t HOST \t\r\nConnection: close\r\n\r\n',
      statuses: [200],
    },
    'no space after the colon': {
      request: 'GET /page HTTP/1.1\r\nHost:HOST\r\nConnection:close\r\n\r\n',
      statuses: [200],
    },
    'a chunk extension': {
      request: post('Transfer-Encoding: chunked\r\nConnection: close', '5;a=b\r\nhello\r\n0\r\n\r\n'),
      statuses: [200],
    },
    'trailer fields': {
      request: post('Transfer-Encoding: chunked\r\nConnection: close', '5\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n'),
      statuses: [200],
    },
    'leading zeros in Content-Length': {
      request: post('Content-Length: 0005\r\nConnection: close', 'hello'),
      statuses: [200],
    },
    'CHUNKED in capitals': {
      request: post('Transfer-Encoding: CHUNKED\r\nConnection: close', '5\r\nhello\r\n0\r\n\r\n'),
      statuses: [200],
    },
  }
  it.each(Object.entries(served))('%s', async (_, { request, methods, statuses }) => {
    shop.origin.on('/form', { status: 200, body: 'taken' })
    const spoken = await speak(shop.port, request.replaceAll('HOST', shop.host), { methods: methods ?? [] })
    expect(spoken.answers.map((answer) => answer.status)).toEqual(statuses)
  })
})

it.each(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'])(
  'the body of a %s is never parsed as a request',
  async (method) => {
    const request = `${method} /bodied HTTP/1.1\r\nHost: HOST\r\nContent-Length: LENGTH\r\n\r\n`
    const body = smuggled.replaceAll('HOST', shop.host)
    const head = request.replaceAll('HOST', shop.host).replace('LENGTH', String(body.length))
    const { answers } = await speak(
      shop.port,
      `${head}${body}GET /after HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`,
      { methods: [method] },
    )
    expect(answers.map((answer) => answer.status)).toEqual([200, 200])
    expect(answers[1]!.body).toContain('page of /after')
    expect(shop.origin.hits('/smuggled')).toBe(0)
  },
)

it('an incomplete body is not completed with the next request', async () => {
  const request = `GET /waiting HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 500\r\n\r\n${smuggled.replaceAll('HOST', shop.host)}`
  const { answers, closed } = await speak(shop.port, request)
  expect(answers).toHaveLength(1)
  expect(answers[0]!.headers['connection']).toBe('close')
  expect(closed).toBe(true)
  expect(shop.origin.hits('/smuggled')).toBe(0)
})

it('no smuggled request was stored', async () => {
  expect(shop.origin.requests.filter((request) => request.path === '/smuggled')).toEqual([])
  expect((await shop.ask('/smuggled')).body.toString()).toContain('page of /smuggled')
  expect(shop.origin.hits('/smuggled')).toBe(1)
})
