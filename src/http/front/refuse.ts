import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../../cache/visit.ts'
import { renderHead } from './render.ts'

/** Milliseconds that a refused client may keep sending before its connection is cut. */
const refusedLinger = 2000
/** Milliseconds that a client may keep sending after its last regular answer. */
const closingLinger = 500

/**
 * The answer to a request that is refused before its path is known. It always has the form of the API's errors, because the request may
 * have been for the API.
 */
export function refusalAnswer(
  status: number,
  text: string,
  headers: readonly HeaderPair[] = [],
): Answer & { body: Buffer } {
  const body = Buffer.from(JSON.stringify({ success: false, message: text }))
  return {
    status,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
      ['Content-Length', String(body.length)],
      ...headers,
    ],
    body,
  }
}

/**
 * Writes a refusal to the socket directly, bypassing Node's response, and closes the connection. Discards further input for a moment:
 * closing a connection with unread input resets it, and the client may never see the answer (RFC 9112 §9.6).
 */
export function refuse(socket: Duplex, status: number, text: string, headers: readonly HeaderPair[] = []): void {
  const answer = refusalAnswer(status, text, headers)
  refuseWith(socket, status, answer.headers, answer.body)
}

/** Refuses a request with a custom answer; otherwise like `refuse`. */
export function refuseWith(socket: Duplex, status: number, headers: readonly HeaderPair[], body: Buffer): void {
  endWith(socket, Buffer.concat([renderHead(status, [...headers, ['Connection', 'close']]), body]))
}

/** Writes the last bytes of a connection and closes it, discarding further input. */
export function endWith(socket: Duplex, bytes: Buffer): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  end(socket, bytes, refusedLinger)
}

/** Closes a connection after everything written to it has been sent; a reset could discard that. Safe to call twice. */
export function endGently(socket: Duplex): void {
  if (!socket.writable) {
    if (!socket.writableEnded) socket.destroy()
    return
  }
  // Further input is discarded. Replacing the listeners also keeps it from Node's parser.
  socket.removeAllListeners('data').on('data', () => {})
  end(socket, nothing, closingLinger)
}

function end(socket: Duplex, bytes: Buffer, linger: number): void {
  const timer = setTimeout(() => socket.destroy(), linger)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(bytes)
  socket.resume()
}

const nothing = Buffer.alloc(0)

/** Resets a connection. Where the body ends with the connection, a regular close would make a truncated answer look complete. */
export function cutVisibly(socket: Duplex): void {
  // Unix sockets cannot be reset.
  if (socket instanceof Socket && socket.remoteFamily !== undefined) socket.resetAndDestroy()
  else socket.destroy()
}
