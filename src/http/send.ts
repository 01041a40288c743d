import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Readable, type Writable } from 'node:stream'
import { discard } from '../cache/body.ts'
import { inFlight } from '../cache/in-flight.ts'
import { releaseSentPieces } from '../cache/pieces.ts'
import type { StreamedBody } from '../cache/visit.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { Answer } from './answer.ts'
import { hasBody } from './body.ts'
import { cutVisibly, endGently } from './front/refuse.ts'

/**
 * Sends an answer. A stream that fails cuts the connection, so that the client sees that the body is incomplete.
 *
 * @param extra further fields; an answer may be shared by several requests and is never changed
 */
export function send(response: ServerResponse, answer: Answer, extra: readonly HeaderPair[] = []): void {
  const { status, reason, headers, body } = answer
  // A connection that was refused meanwhile has been answered on its socket.
  if (response.destroyed || response.headersSent || response.socket?.writableEnded === true) return drop(body)
  closeAfterUnread(response.req, response)
  const fields = flatten(headers, extra)
  if (reason === undefined) response.writeHead(status, fields)
  else response.writeHead(status, reason, fields)
  if (body === null) response.end()
  // As text it leaves in one write with the head.
  else if (typeof body === 'string') response.end(body)
  else if (Buffer.isBuffer(body)) {
    response.end(body)
    holdWhileSent(body, response)
  } else {
    if (!('pieces' in body)) {
      // The head leaves at once: the body may take its time. `flushHeaders` would encode it as UTF-8.
      response.write('', 'latin1')
      // For an HTTP/1.0 client the end of the connection is the end of the body, so a failure must reset it before `pipeline` ends it.
      if (response.req.httpVersion === '1.0')
        body.once('error', () => response.socket !== null && cutVisibly(response.socket))
    }
    stream(body, response)
  }
}

/** Writes a body that is a stream. One that fails destroys the writable. */
export function stream(body: Readable | StreamedBody, writable: Writable): void {
  if ('pieces' in body) return void sendPieces(body, writable)
  releaseSentPieces(body, writable)
  pipeline(body, writable, (error) => {
    if (error) writable.destroy()
  })
}

/** Names and values in turn, as `writeHead` takes them. */
function flatten(...lists: (readonly HeaderPair[])[]): string[] {
  const fields: string[] = []
  for (const list of lists) for (const [name, value] of list) fields.push(name, value)
  return fields
}

/** How long a client may go on sending a body that is not read, in milliseconds. */
const unreadPatience = 2000

/**
 * Closes the connection after the answer to a request whose body was not read: the rest of that body must not be taken for the next request
 * (RFC 9112 §9.6). It is received and discarded for a moment, because closing a connection with unread input resets it, and the
 * client might never see the answer.
 */
function closeAfterUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !hasBody(request)) return
  response.shouldKeepAlive = false
  request.resume()
  const { socket } = response
  if (socket !== null) socket.destroySoon = () => endGently(socket, unreadPatience)
}

/** Releases what a body that is not sent holds. */
export function drop(body: Answer['body']): void {
  if (body === null || typeof body === 'string' || Buffer.isBuffer(body)) return
  if ('pieces' in body) body.discard()
  else discard(body)
}

/** Counts a body that the kernel has not taken at once among the bodies in flight, until the response is over. */
function holdWhileSent(body: Buffer, response: ServerResponse): void {
  if ((response.socket?.writableLength ?? 0) === 0) return
  const lease = inFlight.bodies.hold(body, () => response.destroy())
  response.once('close', () => lease.release())
}

/** Sends a body from the page store, each piece once the kernel has taken the one before. */
async function sendPieces(body: StreamedBody, writable: Writable): Promise<void> {
  let proceed = () => {}
  // A write to a closed connection never calls back.
  writable.once('close', () => proceed())
  try {
    for await (const piece of body.pieces(() => writable.destroy())) {
      if (writable.destroyed) return
      await new Promise<void>((resolve) => {
        proceed = resolve
        writable.write(piece, () => resolve())
      })
    }
    writable.end()
  } catch {
    writable.destroy()
  }
}
