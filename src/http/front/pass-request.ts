import { fieldsThatDisqualify } from './hot-fields.ts'
import { defineGrammar, largestChunk, parsePlainRequest, type PlainRequest } from './plain-request.ts'

/** Requests without a body or with a Content-Length, whose fields the front and the shop read in the same way. */
const grammar = defineGrammar(
  '(?:GET|HEAD|POST|PUT|PATCH|DELETE)',
  [...fieldsThatDisqualify('framing'), 'x-pagecache-tags'],
  { body: true },
)

/** A request that may be passed to the shop. */
export interface PassRequest {
  method: string
  head: PlainRequest
  /** Null where none was announced. */
  body: Buffer | null
  /** Bytes of the body that have not arrived. */
  missing: number
}

/** Parses a chunk that is exactly one request, or the beginning of one whose head is complete; null for everything else. */
export function parsePassRequest(chunk: Buffer, trusted: boolean, mostFields: number): PassRequest | null {
  const head = parsePlainRequest(chunk, grammar, trusted, mostFields)
  if (head === null) return null
  const method = head.sentMethod
  const announced = head.field('content-length')
  // The body of a GET is read, and dropped, by Node's server.
  if (announced !== null && (method === 'GET' || method === 'HEAD' || !/^\d{1,15}$/.test(announced))) return null
  const size = head.length + Number(announced ?? 0)
  if (chunk.length > size || size > largestChunk) return null
  const body = size === head.length ? null : chunk.subarray(head.length)
  return { method, head, body, missing: size - chunk.length }
}
