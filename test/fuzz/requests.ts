import { bodies, characters, fields, hosts, methods, purges, targets } from './vocabulary.ts'

/** Requests by a grammar, most of them by the book and some made wrong. `HOST` stands for the Host of the channel. */

type Next = () => number

const chance = (next: Next, share: number) => next() < share

const pick = <T>(next: Next, from: readonly T[]): T => from[Math.floor(next() * from.length)]!

/** Another spelling of a target. */
function respelt(next: Next, target: string): string {
  switch (Math.floor(next() * 16)) {
    case 0:
      return target.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    case 1:
      return target.replace(/[a-z](?=[^/]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
    case 2:
      return `/x/..${target}`
    case 3:
      return `/x/%2e%2E${target}`
    case 4:
      return `/.${target}`
    case 5:
      return `/${target}`
    case 6:
      return target.replace(/[a-z]/, (letter) => `%25${letter.charCodeAt(0).toString(16)}`)
    case 7:
      return target.toUpperCase()
    case 8:
      return `${target};a=b`
    case 9:
      return `${target}/`
    case 10:
      return target.replace(/\/(?=[^/]*$)/, pick(next, ['\\', '%2f', '/./', '/%2e/', '//']))
    case 11:
      return `http://HOST${target}`
    case 12:
      return (
        pick(next, ['HTTP://HOST', 'http://evil.example', 'https://HOST', 'http://HOST:1', 'http://u@HOST']) + target
      )
    case 13:
      return `${target}${target.includes('?') ? '&' : '?'}${pick(next, ['utm_source=a', 'a=%zz', '', 'b=1&a=2', 'access_token=x', '/../readyz', 'a=\xe4'])}`
    case 14:
      return `${target}/../${pick(next, ['readyz', '%61ctive', 'pass', ''])}`
    default:
      return pick(next, ['*', '', target.slice(1), `${target}#a`, `${target} `, `/${'a'.repeat(8200)}`, `${target}%00`])
  }
}

function framed(next: Next, method: string, body: string): { lines: string[]; body: string } {
  const length = [`Content-Length: ${body.length}`]
  if (body === '') return { lines: ['POST', 'PUT', 'PATCH'].includes(method) || chance(next, 0.1) ? length : [], body }
  if (chance(next, 0.75)) return { lines: length, body }
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  if (chance(next, 0.6)) return { lines: ['Transfer-Encoding: chunked'], body: chunks }
  const wrong = [
    `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`,
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: x',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    `Content-Length: ${body.length}\r\nContent-Length: ${body.length}`,
    `Content-Length: +${body.length}`,
    'Content-Length: 1, 1',
    'Content-Length:',
    'Transfer-Encoding : chunked',
  ]
  return { lines: [pick(next, wrong)], body: chunks }
}

/** What the short way answers from memory, with one thing about it odd: here the two ways are most alike, and most apart. */
function hit(next: Next): string {
  const lines = ['Host: HOST']
  lines.splice(Math.floor(next() * 2), 0, pick(next, chance(next, 0.5) ? hosts : fields))
  if (chance(next, 0.3)) lines.push(pick(next, fields))
  return `GET ${pick(next, ['/hit/a', '/hit/b?x=1&y=2', '/hit/large'])} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
}

function one(next: Next): string {
  if (chance(next, 0.2)) return hit(next)
  const method = pick(next, methods)
  const purge = purges.has(method)
  const plain = purge ? pick(next, ['/nothing', '/nothing/else']) : pick(next, targets)
  const target = !purge && chance(next, 0.4) ? respelt(next, plain) : plain
  const lines = chance(next, 0.85) ? ['Host: HOST'] : []
  for (let count = Math.floor(next() * 4); count > 0; count--) lines.push(pick(next, fields))
  if (lines.length === 0 || chance(next, 0.12))
    lines.splice(Math.floor(next() * (lines.length + 1)), 0, pick(next, hosts))
  const hasBody = ['POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'].includes(method) || chance(next, 0.03)
  const { lines: framing, body } = framed(next, method, hasBody ? pick(next, bodies) : '')
  lines.splice(Math.floor(next() * (lines.length + 1)), 0, ...framing)
  const version = chance(next, 0.96)
    ? 'HTTP/1.1'
    : pick(next, ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 ', 'http/1.1', 'HTTP/0.9', ''])
  return mutated(next, `${method} ${target} ${version}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`)
}

/** Behind the request line of a purge alone: another target could empty the cache, and the next way would meet another one. */
function mutated(next: Next, text: string): string {
  if (!chance(next, 0.15)) return text
  const from = /^(?:BAN|PURGE)/.test(text) ? text.indexOf('\n') + 1 : 0
  const at = from + Math.floor(next() * (text.length - from))
  const kept = chance(next, 0.5) ? at : at + 1
  return text.slice(0, at) + (chance(next, 0.3) ? '' : pick(next, characters)) + text.slice(kept)
}

/** What one client sends: one request, or several in one go. */
export function sentence(next: Next): string {
  let text = one(next)
  while (chance(next, 0.12)) text += one(next)
  return text
}

/** Where a text is cut: in two, or behind each of its bytes. */
export function pieces(next: Next, text: string): string[] {
  if (text.length < 400 && chance(next, 0.08)) return text.split('')
  const at = 1 + Math.floor(next() * Math.min(text.length - 1, chance(next, 0.5) ? 24 : text.length))
  return [text.slice(0, at), text.slice(at)]
}
