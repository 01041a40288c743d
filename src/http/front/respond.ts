import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { discard } from '../../cache/body.ts'
import { inFlight } from '../../cache/in-flight.ts'
import { releaseSentPieces } from '../../cache/pieces.ts'
import type { Answer, StreamedBody } from '../../cache/visit.ts'
import { cutVisibly } from './refuse.ts'

/** Sends an answer. A body that breaks off cuts the connection, so that the visitor sees that the page is not whole. */
export function respond(response: ServerResponse, answer: Answer): void {
  // A connection that was refused meanwhile has had its answer.
  if (response.destroyed || response.headersSent || response.socket?.writableEnded === true) {
    forget(answer.body)
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
  // The head goes out at once: the body may take its time.
  response.flushHeaders()
  releaseSentPieces(answer.body, response)
  // To a client that knows no chunks the end of the connection is the end of the body: it is cut before `pipeline` would end it.
  if (response.req.httpVersion === '1.0')
    answer.body.once('error', () => response.socket !== null && cutVisibly(response.socket))
  pipeline(answer.body, response, (error) => {
    if (error) response.destroy()
  })
}

function forget(body: Answer['body']): void {
  if (body === null || Buffer.isBuffer(body)) return
  if ('pieces' in body) body.discard()
  else discard(body)
}

/** A body in memory that its reader does not take at once counts as long as it is kept for them. */
function holdWhileSent(body: Buffer, response: ServerResponse): void {
  if ((response.socket?.writableLength ?? 0) === 0) return
  const lease = inFlight.bodies.hold(body, () => response.destroy())
  response.once('close', () => lease.release())
}

/** Sends a body from the store, the next piece when the kernel has taken the one before. */
async function sendPieces(body: StreamedBody, response: ServerResponse): Promise<void> {
  let proceed = () => {}
  // What is written when the connection is gone is never said to be written.
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

/** Whether a client holds its body back until it is asked for it (RFC 9110 §10.1.1); Node refuses every other expectation with 417. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersion === '1.1'
}

/** Whether a request only reads: GET or HEAD. */
export function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
