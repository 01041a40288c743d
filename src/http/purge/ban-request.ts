import type { HeaderPair } from '../../pages/page.ts'
import { trimBlanks } from '../../cache/fields.ts'
import { examine, largestHead, type RequestHead } from '../front/guard.ts'

/** The result of reading bytes that may begin with BAN or PURGEKEYS. */
export type BanReading =
  /** Anything else: left to Node's parser. */
  | { kind: 'other' }
  /** The beginning of a purge. `named`: the method is complete. */
  | { kind: 'partial'; named: boolean }
  /** One whole request, in the first `length` bytes. */
  | { kind: 'whole'; head: RequestHead; length: number; close: boolean }

/** Shops send `BAN` to purge everything; `PURGEKEYS` is FOSHttpCache's purge by xkey (docs/purging.md). */
const methods = ['BAN ', 'PURGEKEYS ']

/** A strict request line and fields. Each repetition ends with a character that it cannot match, so that the time is linear. */
const wholeHead =
  /^(BAN|PURGEKEYS|PURGE) (\/[!-~]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n$/

/** Fields that would give the request a body or change its framing. */
const forbidden = new Set(['transfer-encoding', 'expect', 'upgrade', 'trailer', 'te'])

const end = Buffer.from('\r\n\r\n')

/**
 * Reads a BAN or PURGEKEYS request from the first bytes of a message. It is stricter than Node's parser throughout: HTTP/1.1, CR LF, no
 * folding, no body. Anything else goes to that parser, which refuses it and closes the connection.
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
  return readWhole(bytes, length) ?? { kind: 'other' }
}

/**
 * Reads a PURGE request that is the beginning of a chunk; null for anything else, which Node's parser understands too. A proxy's request
 * is left to it, because its fields may name another host; so is what the guard refuses, whose answers are Node's.
 */
export function readPurge(chunk: Buffer): WholeBan | null {
  if (chunk.toString('latin1', 0, 6) !== 'PURGE ') return null
  const length = chunk.indexOf(end) + end.length
  const whole = length < end.length || length > largestHead ? null : readWhole(chunk, length)
  if (whole === null || whole.head.headers.some(([name]) => /^(?:x-)?forwarded/i.test(name))) return null
  return 'status' in examine(whole.head, false) ? null : whole
}

export type WholeBan = Extract<BanReading, { kind: 'whole' }>

function readWhole(bytes: Buffer, length: number): WholeBan | null {
  const match = wholeHead.exec(bytes.toString('latin1', 0, length))
  if (match === null) return null
  const headers = match[3]!.slice(0, -2).split('\r\n').map(toPair)
  const lengths = headers.filter(([name]) => name.toLowerCase() === 'content-length')
  if (
    lengths.length > 1 ||
    lengths.some(([, value]) => value !== '0') ||
    headers.some(([name]) => forbidden.has(name.toLowerCase()))
  )
    return null
  const close = headers.some(
    ([name, value]) => name.toLowerCase() === 'connection' && /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value),
  )
  return { kind: 'whole', head: { method: match[1]!, target: match[2]!, version: '1.1', headers }, length, close }
}

/** Whether a chunk may begin with such a method. For most other chunks this compares one byte. */
export function mayBeBan(chunk: Buffer): boolean {
  if (chunk[0] === 0x42) return true
  // `PURGEK`, or a prefix of it that PUT, PATCH, POST and PURGE may share.
  return chunk[0] === 0x50 && 'PURGEK'.startsWith(chunk.toString('latin1', 0, 6))
}

function toPair(line: string): HeaderPair {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), trimBlanks(line.slice(colon + 1))]
}
