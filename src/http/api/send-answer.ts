import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiAnswer } from './api-answer.ts'
import { refuseWith } from '../front/refuse.ts'
import { currentRequest } from '../front/request-record.ts'

/**
 * Sends an endpoint's answer. Nothing of it may be kept by anybody (contract section 4). `x-request-id` is what the log calls the request:
 * an answer without a reason can be looked up there. What a client calls it is not asked: it could name it as another one.
 */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, value, text, headers }: ApiAnswer,
): void {
  // A connection that was refused meanwhile has had its answer.
  if (response.destroyed || response.headersSent) return
  const body = text ?? JSON.stringify(value)
  const record = currentRequest.getStore()
  const fields = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': String(Buffer.byteLength(body)),
    ...(record !== undefined && { 'x-request-id': record.id }),
    ...headers,
  }
  if (request.complete || response.socket === null) {
    if (!request.complete || headers['connection'] === 'close') response.shouldKeepAlive = false
    response.writeHead(status, fields)
    // As text it goes out in one write with the head.
    response.end(body)
    return
  }
  // A body that nobody read must not be taken for the next request, nor may its sender be cut off before the answer has reached it.
  request.resume()
  refuseWith(
    response.socket,
    status,
    Object.entries(fields).filter(([name]) => name !== 'connection'),
    Buffer.from(body),
  )
}
