import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiAnswer } from './api-answer.ts'
import { refuseWith } from './refuse.ts'

/** Sends an endpoint's answer. Nothing of it may be kept by anybody (contract section 4). */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, { status, value, text, headers }: ApiAnswer): void {
  // A connection that was refused meanwhile has had its answer.
  if (response.destroyed || response.headersSent) return
  const body = text ?? JSON.stringify(value)
  const fields = { 'content-type': 'application/json', 'cache-control': 'no-store', 'content-length': String(Buffer.byteLength(body)), ...headers }
  if (request.complete || response.socket === null) {
    response.writeHead(status, request.complete ? fields : { ...fields, connection: 'close' })
    // As text it goes out in one write with the head.
    response.end(body)
    return
  }
  // A body that nobody read must not be taken for the next request, nor may its sender be cut off before the answer has reached it.
  request.resume()
  refuseWith(response.socket, status, Object.entries(fields).filter(([name]) => name !== 'connection'), Buffer.from(body))
}
