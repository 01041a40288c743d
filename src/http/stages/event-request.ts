import { largestTrackBody } from '../../stages/track-request.ts'
import { headOf, parsePlainRequest, type PlainGrammar, type PlainRequest } from '../front/plain-request.ts'

const grammar: PlainGrammar = {
  head: new RegExp(headOf('POST')),
  decisive: new Map([
    [6, ['expect']],
    [7, ['upgrade']],
    [10, ['connection']],
    [17, ['transfer-encoding']],
  ]),
}

export interface EventRequest {
  head: PlainRequest
  body: Buffer
}

/** One plain POST and its whole body, of at most an event's size, in one chunk; null for everything else. */
export function parseEventRequest(chunk: Buffer, trusted: boolean, mostFields: number): EventRequest | null {
  if (chunk[0] !== 0x50) return null
  const head = parsePlainRequest(chunk, grammar, trusted, mostFields)
  if (head === null) return null
  const body = chunk.subarray(head.length)
  if (body.length > largestTrackBody || head.field('content-length') !== String(body.length)) return null
  // Of two lines Node's parser drops one.
  return head.field('content-type')?.includes(',') === true ? null : { head, body }
}
