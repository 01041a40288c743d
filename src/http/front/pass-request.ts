import { largestChunk, type PlainRequest } from './plain-request.ts'

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** A request that may be passed to the shop. */
export interface PassRequest {
  method: string
  head: PlainRequest
  /** Null where none was announced. */
  body: Buffer | null
  /** Bytes of the body that have not arrived. */
  missing: number
}

/**
 * A request without a body or with a Content-Length that is a whole chunk, or the beginning of one whose head is complete; null for everything
 * else.
 */
export function toPassRequest(head: PlainRequest, chunk: Buffer): PassRequest | null {
  const method = head.sentMethod
  if (head.asksForTags || !methods.has(method)) return null
  const announced = head.field('content-length')
  // The body of a GET is read, and dropped, by Node's server.
  if (announced !== null && (head.isRead || !/^\d{1,15}$/.test(announced))) return null
  const size = head.length + Number(announced ?? 0)
  if (chunk.length > size || size > largestChunk) return null
  const body = size === head.length ? null : chunk.subarray(head.length)
  return { method, head, body, missing: size - chunk.length }
}
