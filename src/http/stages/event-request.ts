import { largestTrackBody } from '../../stages/track-request.ts'
import { fieldsThatDisqualify } from '../front/hot-fields.ts'
import { defineGrammar, parsePlainRequest, type PlainRequest } from '../front/plain-request.ts'

const grammar = defineGrammar('POST', fieldsThatDisqualify('framing'), { body: true })

export interface EventRequest {
  head: PlainRequest
  body: Buffer
}

/** Parses a chunk that is exactly one plain POST with a body of at most an event's size; null for everything else. */
export function parseEventRequest(chunk: Buffer, trusted: boolean, mostFields: number): EventRequest | null {
  if (chunk[0] !== 0x50) return null // P
  const head = parsePlainRequest(chunk, grammar, trusted, mostFields)
  if (head === null) return null
  const body = chunk.subarray(head.length)
  if (body.length > largestTrackBody || head.field('content-length') !== String(body.length)) return null
  // Node's parser drops a second Content-Type line; combined lines contain a comma.
  return head.field('content-type')?.includes(',') === true ? null : { head, body }
}
