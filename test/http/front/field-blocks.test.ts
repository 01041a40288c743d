import { expect, it } from 'vitest'
import { KeptBlock } from '../../../src/http/front/field-block.ts'
import { parsePlainRequest, type PlainRequest } from '../../../src/http/front/plain-request.ts'
import { random } from '../../helpers/random.ts'
import { generateRequest } from './generated-requests.ts'

const mostFields = 200

/** All that is read of a request. */
function seen(request: PlainRequest | null) {
  if (request === null) return null
  const { sentMethod, target, length, headers, block } = request
  const { scheme, host, fromProxy, isHot, asksForTags, cookie, acceptEncoding, ifNoneMatch, range, endToEnd } = block
  return {
    ...{ sentMethod, target, length, headers, scheme, host, fromProxy, isHot, asksForTags, cookie },
    ...{ acceptEncoding, ifNoneMatch, range, endToEnd },
  }
}

it('a request is read as without the fields of the last one', () => {
  const next = random(20_261_126)
  let shared = 0
  for (let count = 0; count < 20_000; count++) {
    const text = generateRequest(next, 'GET')
    const trusted = next() < 0.5
    const last = parsePlainRequest(Buffer.from(text, 'latin1'), trusted, mostFields)?.block ?? null
    const fields = text.slice(text.indexOf('\r\n') + 2)
    const changed = next() < 0.5 ? fields : `${fields.slice(0, Math.floor(next() * fields.length))}x${fields}`
    const line = generateRequest(next, next() < 0.5 ? 'GET' : 'POST').split('\r\n', 1)[0]!
    const chunk = Buffer.from(`${line}\r\n${changed}${next() < 0.2 ? 'behind it' : ''}`, 'latin1')
    const [scheme, isTrusted] = [next() < 0.8 ? 'http' : 'https', next() < 0.8 ? trusted : !trusted]
    const request = parsePlainRequest(chunk, isTrusted, mostFields, scheme, last)
    expect(seen(request)).toEqual(seen(parsePlainRequest(chunk, isTrusted, mostFields, scheme)))
    if (request !== null && request.block === last) shared += 1
  }
  expect(shared).toBeGreaterThan(300)
})

it('the fields of a last request that are the beginning of others are not taken for them', () => {
  const parse = (text: string, last: PlainRequest | null) =>
    parsePlainRequest(Buffer.from(text), false, mostFields, 'http', last?.block ?? null)
  const last = parse('GET /a HTTP/1.1\r\nHost: a\r\n\r\n', null)
  expect(parse('GET /b HTTP/1.1\r\nHost: a\r\nCookie: b=c\r\n\r\n', last)?.cookie).toBe('b=c')
  expect(parse('GET /b HTTP/1.1\r\nHost: ab\r\n\r\n', last)?.host).toBe('ab')
  expect(parse('GET /b HTTP/1.1\r\nHost: a\r\n\r\n', last)?.block).toBe(last!.block)
})

it('only the connections used last keep a block, and none a long one', () => {
  const block = (text: string) => parsePlainRequest(Buffer.from(text), false, mostFields)!.block
  const short = block('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const first = new KeptBlock()
  first.keep(short)
  expect(first.current).toBe(short)
  const others = Array.from({ length: 256 }, () => new KeptBlock())
  for (const other of others) other.keep(short)
  expect(first.current).toBeNull()
  expect(others.every(({ current }) => current === short)).toBe(true)
  first.keep(short)
  expect(first.current).toBe(short)
  expect(others.filter(({ current }) => current === short)).toHaveLength(255)
  first.keep(block(`GET / HTTP/1.1\r\nHost: a\r\nCookie: ${'c'.repeat(2100)}\r\n\r\n`))
  expect(first.current).toBeNull()
})
