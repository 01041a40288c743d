import { chance, pick } from '../../helpers/random.ts'

/** Responses by a grammar, most of them by the book and some made wrong. */

type Next = () => number

export const methods = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE'] as const

const statusLines = [
  ...Array.from({ length: 12 }, () => 'HTTP/1.1 200 OK'),
  'HTTP/1.1 404 Not Found',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 500 \xe4\xff',
  'HTTP/1.1 200 ',
  'HTTP/1.1 200',
  'HTTP/1.1 200  two blanks',
  'HTTP/1.1 599 Odd',
  'HTTP/1.1 999 Odd',
  'HTTP/1.1 099 Odd',
  'HTTP/1.1 20 Short',
  'HTTP/1.1 2000 Long',
  'HTTP/1.1 +20 Signed',
  'HTTP/1.0 200 OK',
  'HTTP/1.2 200 OK',
  'HTTP/2.0 200 OK',
  'http/1.1 200 OK',
  'HTTP/1.1  200 OK',
  'HTTP/1.1\t200 OK',
  ' HTTP/1.1 200 OK',
  '\r\nHTTP/1.1 200 OK',
  'ICY 200 OK',
  'SSH-2.0-OpenSSH',
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1 200 O\x00K',
]
const fields = [
  'Content-Type: text/html',
  'Date: Thu, 15 Jan 2026 12:00:00 GMT',
  'Set-Cookie: a=b; Path=/',
  'X-Empty:',
  'X-Blanks: \t a b \t ',
  'X-Latin: \x80\xa0\xff',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: X-Field, close',
  'Connection: Upgrade, Keep-Alive',
  'Upgrade: h2,h2c',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Keep-Alive: timeout=5, max=100',
  'Keep-Alive: timeout=0',
  'Trailer: X',
  'Content-Encoding: gzip',
  'X A: b',
  'X : b',
  ': b',
  'no colon',
  ' folded',
  '\tfolded',
  'X: a\x00b',
  'X: a\x01b',
  'X: a\x7fb',
  'X: a\rb',
  'X: a\nb',
  '(X): a',
  `Long: ${'a'.repeat(9000)}`,
]
const lengths = [
  (size: number) => `Content-Length: ${size}`,
  (size: number) => `content-length:${size}`,
  (size: number) => `Content-Length: ${size}`,
  (size: number) => `CONTENT-LENGTH: \t${size} `,
  (size: number) => `Content-Length: ${size + 1}`,
  (size: number) => `Content-Length: ${Math.max(0, size - 1)}`,
  (size: number) => `Content-Length: 0${size}`,
  (size: number) => `Content-Length: +${size}`,
  (size: number) => `Content-Length: ${size}, ${size}`,
  (size: number) => `Content-Length: ${size}\r\nContent-Length: ${size}`,
  (size: number) => `Content-Length: ${size}\r\nContent-Length: ${size + 1}`,
  (size: number) => `Content-Length: \xa0${size}`,
  () => 'Content-Length:',
  () => 'Content-Length: x',
  () => 'Content-Length: -1',
  () => 'Content-Length: 99999999999999999999',
  (size: number) => `Content-Length: 0x${size.toString(16)}`,
  (size: number) => `Content-Length: ${size}\r\nTransfer-Encoding: chunked`,
]
const codings = [
  ...Array.from({ length: 6 }, () => 'Transfer-Encoding: chunked'),
  'transfer-encoding:CHUNKED',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding:',
  'Transfer-Encoding: chunked\r\nContent-Length: 3',
]

function chunks(next: Next, body: string): string {
  let text = ''
  for (let at = 0; at < body.length;) {
    const size = 1 + Math.floor(next() * body.length)
    const piece = body.slice(at, at + size)
    at += size
    const digits = piece.length.toString(16)
    const line = chance(next, 0.95)
      ? digits
      : pick(next, [
          digits.toUpperCase(),
          `0${digits}`,
          `${digits};x=y`,
          `${digits} `,
          ` ${digits}`,
          `0x${digits}`,
          `${digits};`,
          `000000000${digits}`,
          '',
          'g',
          `-${digits}`,
        ])
    text += `${line}${ending(next)}${piece}${ending(next)}`
  }
  const last = chance(next, 0.9)
    ? '0\r\n\r\n'
    : pick(next, [
        '0\r\nX: y\r\n\r\n',
        '00\r\n\r\n',
        '0\r\n',
        '',
        '0\n\n',
        '0;a\r\n\r\n',
        '0\r\nContent-Length: 5\r\n\r\n',
        '0\r\n\rX',
      ])
  return text + last
}

const ending = (next: Next) => (chance(next, 0.985) ? '\r\n' : pick(next, ['\n', '\r', '', '\r\n\r\n', ' \r\n']))

/** The text of what a shop sends to one request, in Latin-1. */
export function response(next: Next): string {
  let text = ''
  while (chance(next, 0.06)) {
    const line = pick(next, ['100 Continue', '103 Early Hints', '103 Early Hints\r\nLink: </a>', '102 Processing'])
    text += `HTTP/1.1 ${line}\r\n\r\n`
  }
  const body = chance(next, 0.15)
    ? ''
    : Array.from({ length: Math.floor(next() * 60) }, () => pick(next, 'ab\r\n0:\xff'.split(''))).join('')
  const lines = [chance(next, 0.75) ? 'HTTP/1.1 200 OK' : pick(next, statusLines)]
  while (chance(next, 0.5)) lines.push(chance(next, 0.7) ? fields[Math.floor(next() * 7)]! : pick(next, fields))
  const framing = next()
  const chunked = framing > 0.55 && framing < 0.93
  if (framing <= 0.55) lines.push((chance(next, 0.75) ? lengths[0]! : pick(next, lengths))(body.length))
  else if (chunked) lines.push(chance(next, 0.85) ? codings[0]! : pick(next, codings))
  while (chance(next, 0.2)) lines.push(pick(next, fields.slice(0, 7)))
  text += lines.map((line) => line + ending(next)).join('') + ending(next)
  text += chunked ? chunks(next, body) : body
  if (chance(next, 0.06)) text += pick(next, ['x', '\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', '0\r\n\r\n'])
  return chance(next, 0.12) ? mutated(next, text) : text
}

const characters = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '1',
  'f',
  'H',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  '\r\n\r\n',
  '',
]

/** A text with one character replaced, added or taken away, or cut. */
function mutated(next: Next, text: string): string {
  const at = Math.floor(next() * text.length)
  if (chance(next, 0.2)) return text.slice(0, at)
  return text.slice(0, at) + pick(next, characters) + text.slice(at + Math.floor(next() * 2))
}
