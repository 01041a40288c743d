import { normaliseHost } from '../../cache/channel.ts'
import type { HotRequest } from '../../cache/hot.ts'
import { longestTarget } from './guard.ts'

/** Larger chunks are not what browsers send for a page or an event. */
const largest = 16 * 1024

/**
 * Request line, fields and the empty line behind them; the group is the target. Each repetition is closed by a character that it cannot
 * hold, so that the time is linear. The no-break space is left to the long way: `trim` takes it for a blank, HTTP does not.
 */
export function headOf(method: string): string {
  return String.raw`^${method} (/[!-"$-~]*) HTTP/1\.1\r\n(?:[!#$%&'*+\-.^_\`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\x9f\xa1-\xff]*\r\n)+\r\n`
}

/** How one kind of request is read: a strict subset of what Node's parser accepts. */
export interface PlainGrammar {
  /** Matches the text from its beginning to the end of the head; group 1 is the target. */
  head: RegExp
  /** Fields that change what is to be sent, or how the message is framed: with one of them the long way decides. By length, for speed. */
  decisive: ReadonlyMap<number, readonly string[]>
}

/** Hosts as the channels know them, by scheme; remembered, since there are few. */
const hosts = { http: new Map<string, string | null>(), https: new Map<string, string | null>() }

function hostOf(text: string, scheme: 'http' | 'https'): string | null {
  const known = hosts[scheme]
  let host = known.get(text)
  if (host === undefined) {
    host = normaliseHost(text, scheme)
    if (known.size > 1000) known.clear()
    known.set(text, host)
  }
  return host
}

/** A request read from the bytes of one chunk. Fields that are seldom asked for are found again in its text. */
export class PlainRequest implements HotRequest {
  readonly unkeyedCookies = null
  /** Such requests go the long way. */
  readonly script = false
  scheme = 'http'
  forwardedHost = ''
  /** Empty until `locate` has accepted the Host line. */
  host = ''
  /** The Host line as sent; null while none was read, so that an empty one counts as one. */
  sentHost: string | null = null
  cookie: string | null = null
  acceptEncoding: string | null = null
  ifNoneMatch: string | null = null
  readonly target: string
  readonly #head: string

  constructor(head: string, target: string) {
    this.#head = head
    this.target = target
  }

  /** Bytes until the end of the empty line. */
  get length(): number {
    return this.#head.length
  }

  /** A field by its lower-case name, its lines combined; those of cookies as RFC 9113 §8.2.3 has it, and Node. */
  field(name: string): string | null {
    const head = this.#head
    let value: string | null = null
    for (let position = head.indexOf('\r\n') + 2; position < head.length - 2;) {
      const colon = head.indexOf(':', position)
      const close = head.indexOf('\r\n', colon)
      if (colon - position === name.length && is(head, position, colon, name)) {
        const line = head.slice(colon + 1, close).trim()
        value = value === null ? line : `${value}${name === 'cookie' ? '; ' : ', '}${line}`
      }
      position = close + 2
    }
    return value
  }
}

/**
 * Reads the head of a chunk; null for everything that is not plain by the book.
 *
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Proto and -Host are believed (as in `examine`)
 */
export function parsePlainRequest(
  chunk: Buffer,
  { head, decisive }: PlainGrammar,
  trusted: boolean,
  mostFields: number,
): PlainRequest | null {
  if (chunk.length > largest) return null
  const text = chunk.toString('latin1')
  const match = head.exec(text)
  if (match === null || match[1]!.length > longestTarget) return null
  const request = new PlainRequest(match[0], match[1]!)
  const end = match[0].length - 2
  let position = text.indexOf('\r\n') + 2
  for (let fields = 0; position < end; fields++) {
    if (fields === mostFields) return null
    const colon = text.indexOf(':', position)
    const close = text.indexOf('\r\n', colon)
    if (!take(request, text, position, colon, close, trusted, decisive)) return null
    position = close + 2
  }
  return locate(request) ? request : null
}

/** Makes scheme and Host of a request what the channels know; false where they are none. */
function locate(request: PlainRequest): boolean {
  if (request.scheme !== 'http' && request.scheme !== 'https') return false
  const own = request.sentHost === null ? null : hostOf(request.sentHost, request.scheme)
  const host = own === null || request.forwardedHost === '' ? own : hostOf(request.forwardedHost, request.scheme)
  if (host === null) return false
  request.host = host
  return true
}

/** Takes one field into the request; false where it makes the request one for the long way. */
function take(
  request: PlainRequest,
  text: string,
  start: number,
  colon: number,
  close: number,
  trusted: boolean,
  decisive: PlainGrammar['decisive'],
): boolean {
  const length = colon - start
  if (length === 4 && is(text, start, colon, 'host')) {
    if (request.sentHost !== null) return false
    request.sentHost = text.slice(colon + 1, close).trim()
    return true
  }
  if (length === 6 && is(text, start, colon, 'cookie')) {
    const value = text.slice(colon + 1, close).trim()
    request.cookie = request.cookie === null ? value : `${request.cookie}; ${value}`
    return true
  }
  if (length === 15 && is(text, start, colon, 'accept-encoding')) {
    if (request.acceptEncoding !== null) return false
    request.acceptEncoding = text.slice(colon + 1, close).trim()
    return true
  }
  if (length === 13 && is(text, start, colon, 'if-none-match')) {
    if (request.ifNoneMatch !== null) return false
    request.ifNoneMatch = text.slice(colon + 1, close).trim()
    return true
  }
  if (length === 10 && is(text, start, colon, 'connection'))
    return (
      text
        .slice(colon + 1, close)
        .trim()
        .toLowerCase() === 'keep-alive'
    )
  const names = decisive.get(length)
  if (names !== undefined) {
    const name = text.slice(start, colon).toLowerCase()
    if (names.includes(name)) return false
  }
  if (!trusted) return true
  if (length === 17 && is(text, start, colon, 'x-forwarded-proto')) {
    request.scheme = lastOf(text.slice(colon + 1, close)).toLowerCase()
  }
  if (length === 16 && is(text, start, colon, 'x-forwarded-host'))
    request.forwardedHost = lastOf(text.slice(colon + 1, close))
  return true
}

/** The element that the nearest proxy has added. */
function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim()
}

function is(text: string, start: number, end: number, name: string): boolean {
  return text.slice(start, end).toLowerCase() === name
}
