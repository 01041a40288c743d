import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { PageDraft } from '../../pages/page.ts'
import { toRecord } from '../../pages/page-row.ts'
import type { PurgeTime } from '../clock.ts'
import { asDraft, asNames, asPurgeTime, isObject } from './checked.ts'

/** A page as one node gives it to the others. */
export interface SharedPage {
  draft: PageDraft
  /** In the coding of the draft. */
  body: Buffer
  /** The purge clock of the node when the fetch began. */
  clock: PurgeTime
}

/** What a field of Redis holds: a page, or the names of the request fields that select its variants. */
export type SharedValue = ({ kind: 'page' } & SharedPage) | { kind: 'vary'; names: string[] }

/** Format and version. A node of another version reads no value of this one, and this one none of its. */
const magic = Buffer.from('pcs1')
const sealAt = 12
const headAt = 44

/** The largest head in bytes: response headers and tags of a page. */
const largestHead = 256 * 1024
/** The largest body in bytes. Larger pages are not shared. */
export const largestBody = 1024 * 1024
export const largestValue = headAt + largestHead + largestBody

/**
 * Encodes a value:
 *
 *     4 bytes  format and version
 *     4 bytes  length of the value
 *     4 bytes  length of the head
 *    32 bytes  seal: HMAC-SHA256 over the above, the name and the head, which has the body's SHA-256
 *              head (JSON), body
 *
 * Null for a page that is too large.
 *
 * @param name what the value stands for: it is valid under this name only
 */
export function encode(value: SharedValue, name: string, secret: Buffer): Buffer | null {
  const body = value.kind === 'page' ? value.body : Buffer.alloc(0)
  const head = Buffer.from(value.kind === 'page' ? pageHead(value) : JSON.stringify({ vary: value.names }))
  if (head.length > largestHead || body.length > largestBody) return null
  const start = Buffer.alloc(headAt)
  magic.copy(start)
  start.writeUInt32BE(headAt + head.length + body.length, 4)
  start.writeUInt32BE(head.length, 8)
  sealOf(start, name, head, secret).copy(start, sealAt)
  return Buffer.concat([start, head, body])
}

function pageHead({ draft, body, clock }: SharedPage): string {
  const { key, url, type } = draft
  const head = JSON.stringify({ clock, digest: digestOf(body), key, url, type })
  return `${head.slice(0, -1)},"record":${toRecord(draft)}}`
}

/**
 * Decodes a value. Null for anything that no node has encoded under this name, however it came about. Never throws.
 */
export function decode(value: Buffer, name: string, secret: Buffer): SharedValue | null {
  if (value.length < headAt || !value.subarray(0, magic.length).equals(magic)) return null
  const size = value.readUInt32BE(8)
  if (value.readUInt32BE(4) !== value.length || size > largestHead || headAt + size > value.length) return null
  const head = value.subarray(headAt, headAt + size)
  if (!timingSafeEqual(value.subarray(sealAt, headAt), sealOf(value, name, head, secret))) return null
  const parsed = parse(head)
  if (parsed === null) return null
  const body = value.subarray(headAt + size)
  if ('vary' in parsed) {
    const names = asNames(parsed['vary'])
    return names === null || body.length > 0 ? null : { kind: 'vary', names }
  }
  const { clock, digest, record, ...named } = parsed
  const draft = isObject(record) ? asDraft({ ...record, ...named }) : null
  const time = asPurgeTime(clock)
  if (draft === null || time === null || digest !== digestOf(body)) return null
  return { kind: 'page', draft, body, clock: time }
}

/** The seal is keyed, so that write access to Redis is not enough to make one, and includes the name, so a value cannot be moved. */
function sealOf(start: Buffer, name: string, head: Buffer, secret: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(name))
  const mac = createHmac('sha256', secret).update(start.subarray(0, sealAt))
  return mac.update(length).update(name).update(head).digest()
}

function digestOf(body: Buffer): string {
  return hash('sha256', body, 'base64url')
}

/** A sealed head of another version of pagecache may still be no JSON. */
function parse(head: Buffer): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(head.toString())
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}
