import { largestTrackBody } from '../../stages/track-request.ts'
import type { PlainRequest } from '../front/plain-request.ts'

export interface EventRequest {
  head: PlainRequest
  body: Buffer
}

/** A POST that is a whole chunk, with a body of at most an event's size; null for everything else. */
export function toEventRequest(head: PlainRequest, chunk: Buffer): EventRequest | null {
  if (head.sentMethod !== 'POST') return null
  const body = chunk.subarray(head.length)
  if (body.length > largestTrackBody || head.field('content-length') !== String(body.length)) return null
  // Node's parser drops a second Content-Type line; combined lines contain a comma.
  return head.field('content-type')?.includes(',') === true ? null : { head, body }
}
