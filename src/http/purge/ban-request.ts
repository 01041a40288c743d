import type { HeaderPair } from '../../pages/page.ts'
import { trimBlanks } from '../../cache/fields.ts'
import { largestHead, type RequestHead } from '../front/guard.ts'

/** What bytes are that may begin with a purge by a method that Node's parser does not know. */
export type BanReading =
  /** Something else: Node's parser decides about it. */
  | { kind: 'other' }
  /** The beginning of one. `named`: so much of it that the method is certain. */
  | { kind: 'partial'; named: boolean }
  /** One whole request, `length` bytes of what was given. */
  | { kind: 'whole'; head: RequestHead; length: number; close: boolean }

/** `BAN` is what shops send for "everything"; `PURGEKEYS` is FOSHttpCache's purge by xkey (docs/purging.md). */
const methods = ['BAN ', 'PURGEKEYS ']

/** One request line and fields by the book. Each repetition is closed by a character that it cannot hold: the time is linear. */
const wholeHead =
  /^(BAN|PURGEKEYS) (\/[!-~]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n$/

/** Fields that would give the request a body, or make more of it than one request. */
const forbidden = new Set(['transfer-encoding', 'expect', 'upgrade', 'trailer', 'te'])

const end = Buffer.from('\r\n\r\n')

/**
 * Reads a BAN or PURGEKEYS request from the first bytes of a message. It is stricter than Node's parser in every point: HTTP/1.1,
 * CR LF, no folding, no body. What it does not take is refused by that parser, with the connection.
 */
export function readBan(bytes: Buffer): BanReading {
  const start = bytes.toString('latin1', 0, 10)
  const named = methods.some((method) => start.startsWith(method))
  if (!named)
    return bytes.length < 10 && methods.some((method) => method.startsWith(start))
      ? { kind: 'partial', named }
      : { kind: 'other' }
  const blank = bytes.indexOf(end)
  if (blank < 0) return bytes.length > largestHead ? { kind: 'other' } : { kind: 'partial', named }
  const length = blank + end.length
  if (length > largestHead) return { kind: 'other' }
  const match = wholeHead.exec(bytes.toString('latin1', 0, length))
  if (match === null) return { kind: 'other' }
  const headers = match[3]!.slice(0, -2).split('\r\n').map(toPair)
  const lengths = headers.filter(([name]) => name.toLowerCase() === 'content-length')
  if (
    lengths.length > 1 ||
    lengths.some(([, value]) => value !== '0') ||
    headers.some(([name]) => forbidden.has(name.toLowerCase()))
  )
    return { kind: 'other' }
  const close = headers.some(
    ([name, value]) => name.toLowerCase() === 'connection' && /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value),
  )
  return { kind: 'whole', head: { method: match[1]!, target: match[2]!, version: '1.1', headers }, length, close }
}

/** Whether a chunk could begin with such a method: one look at one byte for everybody else. */
export function mayBeBan(chunk: Buffer): boolean {
  if (chunk[0] === 0x42) return true
  // `PURGEK`, or less of it than tells it from PUT, PATCH, POST and PURGE.
  return chunk[0] === 0x50 && 'PURGEK'.startsWith(chunk.toString('latin1', 0, 6))
}

function toPair(line: string): HeaderPair {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), trimBlanks(line.slice(colon + 1))]
}
