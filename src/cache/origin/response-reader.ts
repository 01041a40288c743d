import { parseHead, type PlainHead } from './response-head.ts'

/** The largest head, in bytes: long tag lists exceed Node's 16 KiB. */
export const largestHead = 256 * 1024

/** What a reader found at the end of the bytes that it was given. */
export type ReadResult =
  /** The response goes on. */
  | 'more'
  /** The response is complete. `rest` has the bytes after it, which belong to no response. */
  | 'end'
  /** A form that this reader leaves to undici. `rest` has everything from there on; `resumes` tells where that is. */
  | 'odd'
  /** No HTTP implementation would read it. */
  | 'broken'

/** Receives what is read. `onHead` returns false to hold the body back. */
export interface ReaderEvents {
  onInterim(head: PlainHead): void
  onHead(head: PlainHead): boolean
  onData(piece: Buffer): void
}

type State = 'head' | 'length' | 'chunk' | keyof typeof lineGrammar

const none = Buffer.alloc(0)
const start = Buffer.from('HTTP/1.1 ')
const headEnd = Buffer.from('\r\n\r\n')
/** The most interim responses before a final one. A shop that sends more may never send that. */
export const mostInterims = 100
/** Hexadecimal digits of the largest chunk. */
const mostDigits = 8

/**
 * Reads one response of a connection after the other, as it comes in pieces. Accepts only what all implementations read
 * in the same way (docs/decisions/0072-own-client.md).
 */
export class ResponseReader {
  rest: Buffer = none
  /** Whether the sink holds the body back. */
  held = false
  readonly #events: ReaderEvents
  #method = ''
  #state: State = 'head'
  /** The part of a head that has arrived so far. */
  #partial: Buffer = none
  #partialLength = 0
  #interims = 0
  /** Bytes of the body or the chunk that are missing. */
  #missing = 0
  /** The part of a chunk line, or of the line break after a chunk, that has arrived so far. */
  #line = ''

  constructor(events: ReaderEvents) {
    this.#events = events
  }

  /** Prepares for the response to the next request. */
  begin(method: string): void {
    this.#method = method
    this.#state = 'head'
    this.#partial = none
    this.#partialLength = 0
    this.#interims = 0
    this.#line = ''
    this.rest = none
    this.held = false
  }

  /** Whether the odd rest begins with a head, rather than with a chunk of a body whose head was reported. */
  get atHead(): boolean {
    return this.#state === 'head'
  }

  /** Reads a piece, whose memory may be changed and is not kept. */
  read(bytes: Buffer): ReadResult {
    if (this.#state !== 'head') return this.#readBody(bytes, 0)
    return this.#partialLength === 0 ? this.#readHead(bytes, 0) : this.#readHead(this.#joined(bytes), 0)
  }

  /** Reads on after `held`. */
  resume(): ReadResult {
    const { rest } = this
    this.rest = none
    this.held = false
    return this.#readBody(rest, 0)
  }

  #readHead(bytes: Buffer, from: number): ReadResult {
    // Only the last three bytes of what came before can belong to the end.
    const search = Math.max(from, this.#partialLength - 3)
    const found = bytes.indexOf(headEnd, search)
    if (found < 0) return this.#keepPartial(bytes, from)
    const end = found + headEnd.length
    const head = end - from > largestHead ? null : parseHead(bytes.toString('latin1', from, end), this.#method)
    if (head === null) return this.#leave('odd', bytes, from)
    this.#partialLength = 0
    if (head.status < 200) {
      if (++this.#interims > mostInterims) return 'broken'
      this.#events.onInterim(head)
      return end === bytes.length ? 'more' : this.#readHead(bytes, end)
    }
    this.#partial = none
    this.#state = head.framing === 'chunked' ? 'chunk-line' : 'length'
    this.#missing = head.framing === 'chunked' ? 0 : head.framing
    if (this.#events.onHead(head)) return this.#readBody(bytes, end)
    this.rest = Buffer.from(bytes.subarray(end))
    this.held = true
    return 'more'
  }

  /** Keeps the part of a head that has come, unless it can be no plain one whatever follows. */
  #keepPartial(bytes: Buffer, from: number): ReadResult {
    const length = bytes.length - from
    const known = this.#partialLength
    const prefix = Math.min(length, start.length)
    const odd =
      length > largestHead ||
      bytes.compare(start, 0, prefix, from, from + prefix) !== 0 ||
      hasBareLineFeed(bytes, from + known)
    if (odd) return this.#leave('odd', bytes, from)
    // `#joined` has it already, unless it follows an interim response.
    if (from > 0 || bytes.buffer !== this.#partial.buffer) {
      this.#partial = Buffer.allocUnsafeSlow(Math.max(4096, length * 2))
      bytes.copy(this.#partial, 0, from)
    }
    this.#partialLength = length
    return 'more'
  }

  /** The part of the head that came before and this piece, in memory that doubles when it is full. */
  #joined(bytes: Buffer): Buffer {
    const length = this.#partialLength + bytes.length
    if (length > this.#partial.length) {
      const larger = Buffer.allocUnsafeSlow(length * 2)
      this.#partial.copy(larger, 0, 0, this.#partialLength)
      this.#partial = larger
    }
    bytes.copy(this.#partial, this.#partialLength)
    return this.#partial.subarray(0, length)
  }

  #readBody(bytes: Buffer, from: number): ReadResult {
    if (this.#state !== 'length') return this.#readChunks(bytes, from)
    const end = Math.min(bytes.length, from + this.#missing)
    this.#missing -= end - from
    if (end > from) this.#events.onData(bytes.subarray(from, end))
    return this.#missing === 0 ? this.#leave('end', bytes, end) : 'more'
  }

  /** Reads chunks, and reports their contents as one piece: each is moved to the end of the one before. */
  #readChunks(bytes: Buffer, from: number): ReadResult {
    let at = from
    let first = from
    let last = from
    let progress: ReadResult = 'more'
    while (progress === 'more' && at < bytes.length) {
      if (this.#state !== 'chunk') {
        const line = this.#readLine(bytes, at)
        at = line.at
        progress = line.progress
        continue
      }
      const end = Math.min(bytes.length, at + this.#missing)
      if (first === last) first = last = at
      else if (last !== at) bytes.copyWithin(last, at, end)
      last += end - at
      this.#missing -= end - at
      if (this.#missing === 0) this.#state = 'chunk-end'
      at = end
    }
    if (last > first) this.#events.onData(bytes.subarray(first, last))
    return progress === 'more' ? progress : this.#leave(progress, bytes, at)
  }

  /** Reads a chunk line, or the line break after a chunk, which may have begun in an earlier piece. */
  #readLine(bytes: Buffer, at: number): { at: number; progress: ReadResult } {
    const known = this.#line.length
    const end = Math.min(bytes.length, at + mostDigits + 2 - known)
    const text = this.#line + bytes.toString('latin1', at, end)
    const found = lineGrammar[this.#state as keyof typeof lineGrammar].exec(text)
    // Extensions and trailers are odd. After a chunk only a line break can come.
    if (found === null) return { at, progress: this.#state === 'chunk-end' ? 'broken' : 'odd' }
    const [line, size] = found
    if (!line.endsWith('\n')) {
      this.#line = line
      return { at: end, progress: 'more' }
    }
    const next = at + line.length - known
    if (this.#state === 'last-line') return { at: next, progress: 'end' }
    this.#line = ''
    this.#missing = this.#state === 'chunk-line' ? Number.parseInt(size!, 16) : 0
    this.#state = this.#state === 'chunk-end' ? 'chunk-line' : this.#missing === 0 ? 'last-line' : 'chunk'
    return { at: next, progress: 'more' }
  }

  #leave(progress: ReadResult, bytes: Buffer, at: number): ReadResult {
    const before = progress !== 'odd' ? '' : this.#state === 'last-line' ? `0\r\n${this.#line}` : this.#line
    if (at < bytes.length || before !== '') this.rest = Buffer.concat([Buffer.from(before), bytes.subarray(at)])
    return progress
  }
}

/** A line, or as much of it as can have come. */
const lineGrammar = {
  'chunk-line': /^([0-9a-f]{1,8})(?:\r\n|\r?$)/i,
  'chunk-end': /^\r(?:\n|$)/,
  'last-line': /^\r(?:\n|$)/,
}

/** Whether a line feed from `from` on does not follow a carriage return. */
function hasBareLineFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(0x0a, from); at >= 0; at = bytes.indexOf(0x0a, at + 1))
    if (bytes[at - 1] !== 0x0d) return true
  return false
}
