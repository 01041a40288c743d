import { separators } from '../../fuzz/vocabulary.ts'

const targets = [
  '/',
  '/page',
  '/a/b?c=d&e',
  '/%2e%2e/x',
  '//x',
  '/a;b',
  '/\\x',
  '/{}|^`',
  '*',
  'http://shop.example/x',
  '/x#y',
  '/\xe4',
  '/a b',
  '/?',
  '/"<>',
]
const lines = [
  'Host: shop.example',
  'Host: shop.example:8080',
  'host:shop.example',
  'HOST: \tShop.Example ',
  'Host: a b',
  'Host:',
  'Host: shop.example\xa0',
  'Accept: */*',
  'Accept-Encoding: gzip, br',
  'Accept-Encoding:',
  'Cookie: a=b; c=d',
  'Cookie: sw-currency=EUR',
  'Cookie: x=\xff',
  'If-None-Match: "a"',
  'If-None-Match: W/"b", "c"',
  'If-None-Match: *',
  'If-Modified-Since: Thu, 15 Jan 2026 11:30:00 GMT',
  'If-Modified-Since:',
  'Range: bytes=-3',
  'range:bytes=0-0,2-',
  'If-Range: "a"',
  'IF-RANGE: \tThu, 15 Jan 2026 11:30:00 GMT ',
  'If-Match: "a"',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: Keep-Alive',
  'Connection: upgrade',
  'Keep-Alive: timeout=5',
  'Content-Length: 0',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding : chunked',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Range: bytes=0-1',
  'Authorization: x',
  'X-Forwarded-Host: evil.example',
  'X-Forwarded-Proto: https',
  'Content_Length: 5',
  'X-Empty:',
  ': no name',
  'no colon',
  ' folded',
  '\tfolded',
  'X: \x01',
  'X: \x7f',
  'X: \x80',
  'X\x00: a',
  'X: a\x00b',
  'X: a\rb',
  'X: a\nb',
  '(X): a',
  '"X": a',
  'Trailer: x',
  'TE: trailers',
  'Proxy-Connection: keep-alive',
  'Accept-Language: de\xa0',
]
const characters = [...separators, '\x0c']

const bodies = [
  '',
  '{}',
  '{"popupId":"x"}',
  'POST / HTTP/1.1\r\nHost: a\r\n\r\n',
  '0\r\n\r\n',
  '\r\n',
  '\xc3\xa4\0\xff',
  'a'.repeat(300),
]

/** Generates a valid request and corrupts parts of it. */
export function generateRequest(next: () => number, method: 'GET' | 'POST'): string {
  const pick = <T>(from: readonly T[]) => from[Math.floor(next() * from.length)]!
  const fields = next() < 0.8 ? ['Host: shop.example'] : []
  const body = method === 'POST' ? pick(bodies) : ''
  if (method === 'POST' && next() < 0.9)
    fields.push(
      `Content-Length: ${next() < 0.9 ? body.length : pick(['', '+2', '02', '2, 2', '1e1', '0x2', body.length + 1, '9999999999999999999'])}`,
    )
  for (let count = Math.floor(next() * 5); count > 0; count--) fields.push(pick(lines))
  const wanted = method === 'GET' && next() < 0.3 ? 'HEAD' : method
  const name = next() < 0.93 ? wanted : pick(['get', 'post', 'HEAD', 'GETT', 'PURGE', ' GET', 'GET', 'POST'])
  const version = next() < 0.94 ? 'HTTP/1.1' : pick(['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 '])
  let text = `${name} ${pick(targets)} ${version}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n${body}`
  if (next() < 0.1) text += pick(['\r\n', 'GET / HTTP/1.1\r\n\r\n', 'hello', '\0'])
  for (let count = Math.floor(next() * 2.2); count > 0; count--) {
    const at = Math.floor(next() * text.length)
    const kind = next()
    if (kind < 0.4) text = text.slice(0, at) + pick(characters) + text.slice(at)
    else if (kind < 0.7) text = text.slice(0, at) + text.slice(at + 1)
    else text = text.slice(0, at) + pick(characters) + text.slice(at + 1)
  }
  return text
}
