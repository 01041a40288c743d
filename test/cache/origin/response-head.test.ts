import { expect, it } from 'vitest'
import { parseHead } from '../../../src/cache/origin/response-head.ts'

const head = (...fields: readonly string[]) =>
  `HTTP/1.1 200 OK\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`

it.each([
  ['HEAD', []],
  ['HEAD', ['Content-Length: 5']],
  ['HEAD', ['Transfer-Encoding: chunked']],
  ['HEAD', ['Keep-Alive: timeout=30']],
])('a connection is not used again after a %s response with %o, whose body might follow', (method, fields) => {
  expect(parseHead(head(...fields), method)).toMatchObject({ framing: 0, keep: 0 })
})

it.each([
  ['HEAD', ['Content-Length: 0']],
  ['GET', ['Content-Length: 0']],
  ['GET', ['Content-Length: 5']],
  ['GET', ['Transfer-Encoding: chunked']],
])('a connection may be used again after a %s response with %o', (method, fields) => {
  expect(parseHead(head(...fields), method)).toMatchObject({ keep: null })
})

it.each(['5', ' 5', '\t5 ', ' 5 \t '])('blanks around a length are no part of it: %j', (length) => {
  expect(parseHead(head(`Content-Length:${length}`), 'GET')).toMatchObject({
    framing: 5,
    headers: [['Content-Length', '5']],
  })
})

it.each([' 5 5', ' +5', ' 5,5', ' 0x5', ' ', ''])('is not plain with the length %j', (length) => {
  expect(parseHead(head(`Content-Length:${length}`), 'GET')).toBeNull()
})
