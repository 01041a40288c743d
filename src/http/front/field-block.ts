import { normaliseHost } from '../../cache/channel.ts'
import { endToEnd } from '../../cache/fields.ts'
import { Memo } from '../../lib/memo.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { disqualifying } from './hot-fields.ts'

/**
 * Matches field lines and the empty line after them. A strict subset of what Node's parser accepts. Each repetition ends at a character that it
 * cannot contain, so that matching takes linear time. It rejects the no-break space: `trim` strips it, HTTP does not.
 */
const grammar = /(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\x9f\xa1-\xff]*\r\n)+\r\n/y

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

/**
 * The field lines of a request, up to and including the empty line, and all that follows from them alone. The requests of a connection often have the
 * same ones, so a connection keeps the last block. Rarely used fields are looked up in its text again.
 */
export class FieldBlock {
  readonly text: string
  readonly fromProxy: boolean
  /** The scheme of the connection. */
  readonly connection: string
  scheme: string
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
  readonly memo = new Memo()
  #headers: readonly HeaderPair[] | null = null
  #forwarded: readonly HeaderPair[] | null = null

  constructor(text: string, fromProxy: boolean, scheme: string) {
    this.text = text
    this.fromProxy = fromProxy
    this.connection = scheme
    this.scheme = scheme
  }

  /** All field lines in order. */
  get headers(): readonly HeaderPair[] {
    return (this.#headers ??= this.#pairs())
  }

  /** The field lines without those of the connection (RFC 9110 §7.6.1). */
  get endToEnd(): readonly HeaderPair[] {
    return (this.#forwarded ??= endToEnd(this.headers))
  }

  #pairs(): HeaderPair[] {
    const { text } = this
    const pairs: HeaderPair[] = []
    for (let position = 0; position < text.length - 2;) {
      const colon = text.indexOf(':', position)
      const end = text.indexOf('\r\n', colon)
      pairs.push([text.slice(position, colon), text.slice(colon + 1, end).trim()])
      position = end + 2
    }
    return pairs
  }

  /** Returns a field by its lower-case name with its lines combined; cookie lines as in RFC 9113 §8.2.3, like Node. */
  field(name: string): string | null {
    const { text } = this
    let value: string | null = null
    for (let position = 0; position < text.length - 2;) {
      const colon = text.indexOf(':', position)
      const end = text.indexOf('\r\n', colon)
      if (colon - position === name.length && is(text, position, colon, name)) {
        const line = text.slice(colon + 1, end).trim()
        value = value === null ? line : `${value}${name === 'cookie' ? '; ' : ', '}${line}`
      }
      position = end + 2
    }
    return value
  }
}

/**
 * Parses the field lines of a request; null for everything that is not plain.
 *
 * @param from where they begin in the text
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Proto and -Host apply (as in `examine`)
 * @param scheme of the connection
 */
export function parseFields(
  text: string,
  from: number,
  trusted: boolean,
  mostFields: number,
  scheme: string,
): FieldBlock | null {
  grammar.lastIndex = from
  const match = grammar.exec(text)
  if (match === null) return null
  const block = new FieldBlock(match[0], trusted, scheme)
  const end = match[0].length - 2
  for (let position = 0, fields = 0; position < end; fields++) {
    if (fields === mostFields) return null
    const colon = match[0].indexOf(':', position)
    const lineEnd = match[0].indexOf('\r\n', colon)
    const plain =
      setField(block, match[0], position, colon, lineEnd) ??
      (judgeField(block, match[0], position, colon, lineEnd) &&
        (!trusted || setForwarded(block, match[0], position, colon, lineEnd)))
    if (!plain) return null
    position = lineEnd + 2
  }
  return resolveSite(block) ? block : null
}

/** Normalises scheme and Host; false where they are invalid. */
function resolveSite(block: FieldBlock): boolean {
  if (block.scheme !== 'http' && block.scheme !== 'https') return false
  const own = block.sentHost === null ? null : hostOf(block.sentHost, block.scheme)
  const host = own === null || block.forwardedHost === '' ? own : hostOf(block.forwardedHost, block.scheme)
  if (host === null) return false
  block.host = host
  return true
}

/** Sets a field that hits are looked up by. False where a line repeats that may not; null for any other field. */
function setField(block: FieldBlock, text: string, start: number, colon: number, end: number): boolean | null {
  const length = colon - start
  if (length === 4 && is(text, start, colon, 'host')) {
    if (block.sentHost !== null) return false
    block.sentHost = text.slice(colon + 1, end).trim()
    return true
  }
  if (length === 6 && is(text, start, colon, 'cookie')) {
    const value = text.slice(colon + 1, end).trim()
    block.cookie = block.cookie === null ? value : `${block.cookie}; ${value}`
    return true
  }
  const slot = slots.get(length)
  if (slot === undefined || !is(text, start, colon, slot.name)) return null
  if (block[slot.key] !== null) return false
  block[slot.key] = text.slice(colon + 1, end).trim()
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
function judgeField(block: FieldBlock, text: string, start: number, colon: number, end: number): boolean {
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
  block.isHot = false
  if (reason === 'tags') block.asksForTags = true
  return true
}

/** A loop rather than `find`, which would create a function for each field. */
function fieldNamed(text: string, start: number, colon: number) {
  const named = disqualifying.get(colon - start)
  if (named !== undefined) for (const each of named) if (is(text, start, colon, each.name)) return each
  return null
}

/** Applies what a trusted proxy says about the public site. */
function setForwarded(block: FieldBlock, text: string, start: number, colon: number, end: number): true {
  const length = colon - start
  if (length === 17 && is(text, start, colon, 'x-forwarded-proto'))
    block.scheme = lastOf(text.slice(colon + 1, end)).toLowerCase()
  if (length === 16 && is(text, start, colon, 'x-forwarded-host'))
    block.forwardedHost = lastOf(text.slice(colon + 1, end))
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

/** The longest block that is kept for the next request, in characters, and the most connections that keep one: idle ones must not take much memory. */
const longestKept = 2048
const mostKept = 256
/** The connections that keep a block, in the order in which they began to. */
const keeping: (KeptBlock | null)[] = Array.from({ length: mostKept }, () => null)
let next = 0

/** The fields of a connection's last request, until many other connections keep theirs. */
export class KeptBlock {
  current: FieldBlock | null = null
  #place = -1

  keep(block: FieldBlock): void {
    if (block === this.current) return
    this.current = block.text.length <= longestKept ? block : null
    if (this.current === null || keeping[this.#place] === this) return
    const oldest = keeping[next] ?? null
    if (oldest !== null) oldest.current = null
    keeping[next] = this
    this.#place = next
    next = (next + 1) % mostKept
  }
}
