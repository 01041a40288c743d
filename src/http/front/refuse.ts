import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HeaderPair } from '../../pages/page.ts'
import { errorAnswer } from '../answer.ts'
import { renderAnswer } from './render.ts'

/** Milliseconds that a refused client may keep sending before its connection is cut. */
const refusedLinger = 2000
/** Milliseconds that a client may keep sending after its last regular answer. */
const closingLinger = 500
/** Milliseconds that a client may read nothing of what is still to be sent on a connection that closes. */
const closingStall = 15_000

/**
 * Writes a refusal in the form of the API's errors to the socket directly, bypassing Node's response, and closes the connection. Discards further input for a moment:
 * closing a connection with unread input resets it, and the client may never see the answer (RFC 9112 §9.6).
 */
export function refuse(socket: Duplex, status: number, text: string, headers: readonly HeaderPair[] = []): void {
  endWith(socket, renderAnswer(errorAnswer(status, text, headers), true))
}

/** Calls back after what has arrived is read, if that is nothing: an event loop that was busy for long runs timers before it reads. */
export function ifStillSilent(socket: Socket, then: () => void): void {
  const { bytesRead } = socket
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) then()
  })
}

/** Writes the last bytes of a connection and closes it, discarding further input. */
export function endWith(socket: Duplex, bytes: Buffer): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  cutAfter(socket, refusedLinger)
  socket.on('error', () => socket.destroy())
  socket.end(bytes)
  socket.resume()
}

/** Closes a connection after everything written to it has been sent; a reset could discard that. Safe to call twice. */
export function endGently(socket: Duplex, linger: number = closingLinger): void {
  if (!socket.writable) {
    if (!socket.writableEnded) socket.destroy()
    return
  }
  // Further input is discarded. Replacing the listeners also keeps it from Node's parser.
  socket.removeAllListeners('data').on('data', () => {})
  socket.on('error', () => socket.destroy())
  // A slow client gets everything that was written, and only then has little time.
  if (socket instanceof Socket) socket.setTimeout(closingStall, () => socket.destroy())
  socket.once('finish', () => cutAfter(socket, linger))
  socket.end()
  socket.resume()
}

function cutAfter(socket: Duplex, linger: number): void {
  const timer = setTimeout(() => socket.destroy(), linger)
  socket.once('close', () => clearTimeout(timer))
}

/** Resets a connection. Where the body ends with the connection, a regular close would make a truncated answer look complete. */
export function cutVisibly(socket: Duplex): void {
  // Unix sockets cannot be reset.
  if (socket instanceof Socket && socket.remoteFamily !== undefined) socket.resetAndDestroy()
  else socket.destroy()
}
