import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { discard } from '../../cache/body.ts'
import { inFlight } from '../../cache/in-flight.ts'
import { releaseSentPieces } from '../../cache/pieces.ts'
import type { Answer, StreamedBody } from '../../cache/visit.ts'
import { cutVisibly } from './refuse.ts'

/** Sends an answer. If the body fails midway, the connection is cut, so that the visitor can tell that the page is incomplete. */
export function respond(response: ServerResponse, answer: Answer): void {
  // A connection that was refused in the meantime already has its answer.
  if (response.destroyed || response.headersSent || response.socket?.writableEnded === true) {
    discardBody(answer.body)
    return
  }
  response.writeHead(answer.status, answer.headers.flat() as unknown as string[])
  if (answer.body === null || Buffer.isBuffer(answer.body)) {
    response.end(answer.body ?? undefined)
    if (answer.body !== null) holdWhileSent(answer.body, response)
    return
  }
  if ('pieces' in answer.body) {
    void sendPieces(answer.body, response)
    return
  }
  // The body may take a while: send the head now.
  response.flushHeaders()
  releaseSentPieces(answer.body, response)
  // For an HTTP/1.0 client the body ends with the connection: reset it before `pipeline` ends it regularly.
  if (response.req.httpVersion === '1.0')
    answer.body.once('error', () => response.socket !== null && cutVisibly(response.socket))
  pipeline(answer.body, response, (error) => {
    if (error) response.destroy()
  })
}

function discardBody(body: Answer['body']): void {
  if (body === null || Buffer.isBuffer(body)) return
  if ('pieces' in body) body.discard()
  else discard(body)
}

/** Counts a buffered body towards the memory of all bodies being sent until a slow client has received it. */
function holdWhileSent(body: Buffer, response: ServerResponse): void {
  if ((response.socket?.writableLength ?? 0) === 0) return
  const lease = inFlight.bodies.hold(body, () => response.destroy())
  response.once('close', () => lease.release())
}

/** Sends a body from the store, each piece once the kernel has taken the previous one. */
async function sendPieces(body: StreamedBody, response: ServerResponse): Promise<void> {
  let proceed = () => {}
  // `write` never calls back after the connection has closed.
  response.once('close', () => proceed())
  try {
    for await (const piece of body.pieces(() => response.destroy())) {
      if (response.destroyed) return
      await new Promise<void>((resolve) => {
        proceed = resolve
        response.write(piece, () => resolve())
      })
    }
    response.end()
  } catch {
    response.destroy()
  }
}

/** Whether a client waits for 100 (Continue) before it sends its body (RFC 9110 §10.1.1). Any other expectation gets 417. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersion === '1.1'
}

/** Whether the method is GET or HEAD. */
export function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
