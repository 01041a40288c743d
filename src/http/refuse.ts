import type { Duplex } from 'node:stream'
import type { HeaderPair } from '../pages/page.ts'
import type { Answer } from '../proxy/visit.ts'
import { renderHead } from './render.ts'

/** How long a refused client may go on sending before the connection is cut, in milliseconds. */
const linger = 2000

/**
 * A request that is refused before it is known whose it is: one form for every path, that of the API's errors, since what the parser
 * could not read may have been a request for the daemon itself.
 */
export function refusalAnswer(status: number, text: string, headers: readonly HeaderPair[] = []): Answer & { body: Buffer } {
  const body = Buffer.from(JSON.stringify({ success: false, message: text }))
  return { status, headers: [['Content-Type', 'application/json'], ['Cache-Control', 'no-store'], ['Content-Length', String(body.length)], ...headers], body }
}

/**
 * Tells a connection why nothing comes of it, past Node's own answering, and closes it. Its input is read on for a moment and
 * thrown away: a connection that is closed with unread input is reset, and the client may never see the answer (RFC 9112 §9.6).
 */
export function refuse(socket: Duplex, status: number, text: string, headers: readonly HeaderPair[] = []): void {
  const answer = refusalAnswer(status, text, headers)
  refuseWith(socket, status, answer.headers, answer.body)
}

/** The same with an answer of one's own. */
export function refuseWith(socket: Duplex, status: number, headers: readonly HeaderPair[], body: Buffer): void {
  endWith(socket, Buffer.concat([renderHead(status, [...headers, ['Connection', 'close']]), body]))
}

/** Sends the last bytes of a connection and closes it. */
export function endWith(socket: Duplex, bytes: Buffer): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), linger)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(bytes)
  socket.resume()
}
