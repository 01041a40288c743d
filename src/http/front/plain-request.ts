import { normaliseHost } from '../../cache/channel.ts'
import type { HotRequest } from '../../cache/hot.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { longestTarget } from './guard.ts'
import { disqualifying } from './hot-fields.ts'

/** Bytes. Browsers send smaller chunks for a page or an event. */
export const largestChunk = 16 * 1024

/**
 * Matches the request line, the fields and the empty line after them; group 1 is the target. A strict subset of what Node's parser accepts. Each
 * repetition ends at a character that it cannot contain, so that matching takes linear time. It rejects the no-break space: `trim` strips it, HTTP
 * does not.
 */
const grammar =
  /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|PURGE) (\/[!-"$-~]*) HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\x9f\xa1-\xff]*\r\n)+\r\n/

/** Normalised hosts by scheme and the text that was sent. Cached, since a daemon serves few. */
const hosts = { http: new Map<string, string | null>(), https: new Map<string, string | null>() }

function hostOf(text: string, scheme: 'http' | 'https'): string | null {
  const cached = hosts[scheme]
  let host = cached.get(text)
  if (host === undefined) {
    host = normaliseHost(text, scheme)
    if (cached.size > 1000) cached.clear()
    cached.set(text, host)
  }
  return host
}

/** A request parsed from the bytes of one chunk. Rarely used fields are looked up in its text again. */
export class PlainRequest implements HotRequest {
  readonly unkeyedCookies = null
  /** `X-Requested-With` disqualifies a request, so this is never a script's. */
  readonly script = false
  scheme: string
  fromProxy = false
  forwardedHost = ''
  /** Empty until `resolveSite` has accepted the Host line. */
  host = ''
  /** Whether no field rules out an answer from memory. */
  isHot = true
  /** Whether a cache in front of the daemon may have asked for the tags of a page. */
  asksForTags = false
  /** The Host line as sent, which may be empty; null until one was read. */
  sentHost: string | null = null
  cookie: string | null = null
  acceptEncoding: string | null = null
  ifNoneMatch: string | null = null
  ifModifiedSince: string | null = null
  range: string | null = null
  ifRange: string | null = null
  readonly target: string
  readonly #head: string

  constructor(head: string, target: string, scheme: string) {
    this.#head = head
    this.target = target
    this.scheme = scheme
  }

  /** Of the requests that are looked up; an event's POST is not. */
  get method(): 'GET' | 'HEAD' {
    return this.#head.startsWith('HEAD') ? 'HEAD' : 'GET'
  }

  /** Whether the method is GET or HEAD, the only ones with these letters. */
  get isRead(): boolean {
    const letter = this.#head[0]
    return letter === 'G' || letter === 'H'
  }

  /** The method as sent. */
  get sentMethod(): string {
    return this.#head.slice(0, this.#head.indexOf(' '))
  }

  /** All field lines in order. */
  get headers(): HeaderPair[] {
    const head = this.#head
    const pairs: HeaderPair[] = []
    for (let position = head.indexOf('\r\n') + 2; position < head.length - 2;) {
      const colon = head.indexOf(':', position)
      const end = head.indexOf('\r\n', colon)
      pairs.push([head.slice(position, colon), head.slice(colon + 1, end).trim()])
      position = end + 2
    }
    return pairs
  }

  /** Bytes up to and including the empty line. */
  get length(): number {
    return this.#head.length
  }

  /** Returns a field by its lower-case name with its lines combined; cookie lines as in RFC 9113 §8.2.3, like Node. */
  field(name: string): string | null {
    const head = this.#head
    let value: string | null = null
    for (let position = head.indexOf('\r\n') + 2; position < head.length - 2;) {
      const colon = head.indexOf(':', position)
      const end = head.indexOf('\r\n', colon)
      if (colon - position === name.length && is(head, position, colon, name)) {
        const line = head.slice(colon + 1, end).trim()
        value = value === null ? line : `${value}${name === 'cookie' ? '; ' : ', '}${line}`
      }
      position = end + 2
    }
    return value
  }
}

/**
 * Parses the head at the beginning of a chunk; null for everything that is not plain.
 *
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Proto and -Host apply (as in `examine`)
 * @param scheme of the connection
 */
export function parsePlainRequest(
  chunk: Buffer,
  trusted: boolean,
  mostFields: number,
  scheme = 'http',
): PlainRequest | null {
  if (chunk.length > largestChunk) return null
  const text = chunk.toString('latin1')
  const match = grammar.exec(text)
  if (match === null || match[1]!.length > longestTarget) return null
  const request = new PlainRequest(match[0], match[1]!, scheme)
  request.fromProxy = trusted
  const headEnd = match[0].length - 2
  let position = text.indexOf('\r\n') + 2
  for (let fields = 0; position < headEnd; fields++) {
    if (fields === mostFields) return null
    const colon = text.indexOf(':', position)
    const end = text.indexOf('\r\n', colon)
    const plain =
      setField(request, text, position, colon, end) ??
      (judgeField(request, text, position, colon, end) &&
        (!trusted || setForwarded(request, text, position, colon, end)))
    if (!plain) return null
    position = end + 2
  }
  return resolveSite(request) ? request : null
}

/** Normalises scheme and Host; false where they are invalid. */
function resolveSite(request: PlainRequest): boolean {
  if (request.scheme !== 'http' && request.scheme !== 'https') return false
  const own = request.sentHost === null ? null : hostOf(request.sentHost, request.scheme)
  const host = own === null || request.forwardedHost === '' ? own : hostOf(request.forwardedHost, request.scheme)
  if (host === null) return false
  request.host = host
  return true
}

/** Sets a field that hits are looked up by. False where a line repeats that may not; null for any other field. */
function setField(request: PlainRequest, text: string, start: number, colon: number, end: number): boolean | null {
  const length = colon - start
  if (length === 4 && is(text, start, colon, 'host')) {
    if (request.sentHost !== null) return false
    request.sentHost = text.slice(colon + 1, end).trim()
    return true
  }
  if (length === 6 && is(text, start, colon, 'cookie')) {
    const value = text.slice(colon + 1, end).trim()
    request.cookie = request.cookie === null ? value : `${request.cookie}; ${value}`
    return true
  }
  const slot = slots.get(length)
  if (slot === undefined || !is(text, start, colon, slot.name)) return null
  if (request[slot.key] !== null) return false
  request[slot.key] = text.slice(colon + 1, end).trim()
  return true
}

/** Further fields that hits are looked up by and that must not repeat, by the length of their names. */
const slots = new Map(
  (
    [
      { name: 'accept-encoding', key: 'acceptEncoding' },
      { name: 'if-none-match', key: 'ifNoneMatch' },
      { name: 'if-modified-since', key: 'ifModifiedSince' },
      { name: 'range', key: 'range' },
      { name: 'if-range', key: 'ifRange' },
    ] as const
  ).map((slot) => [slot.name.length, slot]),
)

/** Notes what a field rules out; false where it leaves the request to Node's parser. `Connection: keep-alive` is the default of HTTP/1.1. */
function judgeField(request: PlainRequest, text: string, start: number, colon: number, end: number): boolean {
  const named = fieldNamed(text, start, colon)
  if (named === null) return true
  const { name, reason } = named
  if (reason === 'framing')
    return (
      name === 'connection' &&
      text
        .slice(colon + 1, end)
        .trim()
        .toLowerCase() === 'keep-alive'
    )
  request.isHot = false
  if (reason === 'tags') request.asksForTags = true
  return true
}

/** A loop rather than `find`, which would create a function for each field. */
function fieldNamed(text: string, start: number, colon: number) {
  const named = disqualifying.get(colon - start)
  if (named !== undefined) for (const each of named) if (is(text, start, colon, each.name)) return each
  return null
}

/** Applies what a trusted proxy says about the public site. */
function setForwarded(request: PlainRequest, text: string, start: number, colon: number, end: number): true {
  const length = colon - start
  if (length === 17 && is(text, start, colon, 'x-forwarded-proto'))
    request.scheme = lastOf(text.slice(colon + 1, end)).toLowerCase()
  if (length === 16 && is(text, start, colon, 'x-forwarded-host'))
    request.forwardedHost = lastOf(text.slice(colon + 1, end))
  return true
}

/** The last list element, which the nearest proxy added. */
function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim()
}

/** Whether text has a name, given in lower case. Most names differ in their first letter, which is cheaper to compare. */
function is(text: string, start: number, end: number, name: string): boolean {
  return (text.charCodeAt(start) | 0x20) === name.charCodeAt(0) && text.slice(start, end).toLowerCase() === name
}

/** Parses a GET or HEAD that fills a whole chunk and may be answered from memory; null for everything else. */
export function toHitRequest(head: PlainRequest, chunk: Buffer): HotRequest | null {
  return head.isRead && head.isHot && head.length === chunk.length ? head : null
}
