import { parsePlainRequest, toHitRequest, type PlainRequest } from '../../../src/http/front/plain-request.ts'
import { toEventRequest } from '../../../src/http/stages/event-request.ts'

/** A reader of a chunk of bytes, as the socket has it. */
function reader<Request>(to: (head: PlainRequest, chunk: Buffer) => Request | null) {
  return (chunk: Buffer, trusted: boolean, mostFields: number): Request | null => {
    const head = parsePlainRequest(chunk, trusted, mostFields)
    return head === null ? null : to(head, chunk)
  }
}

export const parseHitRequest = reader(toHitRequest)
export const parseEventRequest = reader(toEventRequest)
