import type { HotRequest } from '../../cache/hot.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { parseFields, type FieldBlock } from './field-block.ts'
import { longestTarget } from './guard.ts'

/** Bytes. Browsers send smaller chunks for a page or an event. */
export const largestChunk = 16 * 1024
/** Matches the request line; group 1 is the method, group 2 the target. A strict subset of what Node's parser accepts. */
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|PURGE) (\/[!-"$-~]*) HTTP\/1\.1\r\n/

/** A request parsed from the bytes of one chunk. */
export class PlainRequest implements HotRequest {
  readonly unkeyedCookies = null
  /** `X-Requested-With` disqualifies a request, so this is never a script's. */
  readonly script = false
  /** The method as sent. */
  readonly sentMethod: string
  readonly target: string
  readonly block: FieldBlock

  constructor(method: string, target: string, block: FieldBlock) {
    this.sentMethod = method
    this.target = target
    this.block = block
  }

  /** Of the requests that are looked up; an event's POST is not. */
  get method(): 'GET' | 'HEAD' {
    return this.sentMethod === 'HEAD' ? 'HEAD' : 'GET'
  }

  get isRead(): boolean {
    return this.sentMethod === 'GET' || this.sentMethod === 'HEAD'
  }

  get scheme(): string {
    return this.block.scheme
  }

  get host(): string {
    return this.block.host
  }

  get fromProxy(): boolean {
    return this.block.fromProxy
  }

  get isHot(): boolean {
    return this.block.isHot
  }

  get asksForTags(): boolean {
    return this.block.asksForTags
  }

  get cookie(): string | null {
    return this.block.cookie
  }

  get acceptEncoding(): string | null {
    return this.block.acceptEncoding
  }

  get ifNoneMatch(): string | null {
    return this.block.ifNoneMatch
  }

  get ifModifiedSince(): string | null {
    return this.block.ifModifiedSince
  }

  get range(): string | null {
    return this.block.range
  }

  get ifRange(): string | null {
    return this.block.ifRange
  }

  /** All field lines in order. */
  get headers(): readonly HeaderPair[] {
    return this.block.headers
  }

  /** Bytes up to and including the empty line. */
  get length(): number {
    return this.sentMethod.length + this.target.length + ' '.length + ' HTTP/1.1\r\n'.length + this.block.text.length
  }

  /** Returns a field by its lower-case name with its lines combined. */
  field(name: string): string | null {
    return this.block.field(name)
  }
}

/**
 * Parses the head at the beginning of a chunk; null for everything that is not plain.
 *
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Proto and -Host apply (as in `examine`)
 * @param scheme of the connection
 * @param last the fields of the connection's last request, which are not parsed again if they are the same
 */
export function parsePlainRequest(
  chunk: Buffer,
  trusted: boolean,
  mostFields: number,
  scheme = 'http',
  last: FieldBlock | null = null,
): PlainRequest | null {
  if (chunk.length > largestChunk) return null
  const text = chunk.toString('latin1')
  const match = requestLine.exec(text)
  if (match === null) return null
  const [line, method, target] = match as unknown as [string, string, string]
  if (target.length > longestTarget) return null
  // A block ends with its first empty line, so a text that begins with it has the same fields.
  const isSame =
    last !== null &&
    last.fromProxy === trusted &&
    last.connection === scheme &&
    // Twice as fast as `startsWith`.
    text.slice(line.length, line.length + last.text.length) === last.text
  const block = isSame ? last : parseFields(text, line.length, trusted, mostFields, scheme)
  return block === null ? null : new PlainRequest(method, target, block)
}

/** Parses a GET or HEAD that fills a whole chunk and may be answered from memory; null for everything else. */
export function toHitRequest(head: PlainRequest, chunk: Buffer): HotRequest | null {
  return head.isRead && head.isHot && head.length === chunk.length ? head : null
}
