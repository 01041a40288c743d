import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { discard } from '../proxy/body.ts'
import { freeTaken } from '../proxy/pieces.ts'
import type { Answer } from '../proxy/visit.ts'
import { cutVisibly } from './refuse.ts'

/** Sends an answer. A body that breaks off cuts the connection, so that the visitor sees that the page is not whole. */
export function respond(response: ServerResponse, answer: Answer): void {
  // A connection that was refused meanwhile has had its answer.
  if (response.destroyed || response.headersSent || response.socket?.writableEnded === true) {
    if (answer.body !== null && !Buffer.isBuffer(answer.body)) discard(answer.body)
    return
  }
  response.writeHead(answer.status, answer.headers.flat() as unknown as string[])
  if (answer.body === null || Buffer.isBuffer(answer.body)) {
    response.end(answer.body ?? undefined)
    return
  }
  // The head goes out at once: the body may take its time.
  response.flushHeaders()
  freeTaken(answer.body, response)
  // To a client that knows no chunks the end of the connection is the end of the body: it is cut before `pipeline` would end it.
  if (response.req.httpVersion === '1.0') answer.body.once('error', () => response.socket !== null && cutVisibly(response.socket))
  pipeline(answer.body, response, error => {
    if (error) response.destroy()
  })
}

/** Whether a client holds its body back until it is asked for it (RFC 9110 §10.1.1); Node refuses every other expectation with 417. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersion === '1.1'
}

/** Whether a request only reads: GET or HEAD. */
export function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
