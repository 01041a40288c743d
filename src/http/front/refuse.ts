import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../../cache/visit.ts'
import { renderHead } from './render.ts'

/** How long a refused client may go on sending before the connection is cut, in milliseconds. */
const linger = 2000
/** The same for one that was told that the answer is the last. */
const lastLinger = 500

/**
 * A request that is refused before it is known whose it is: one form for every path, that of the API's errors, since what the parser
 * could not read may have been a request for the daemon itself.
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
  end(socket, bytes, linger)
}

/** Closes a connection behind what was written to it: never by a reset, which could take that along. Harmless where it is done already. */
export function endGently(socket: Duplex, patience: number = lastLinger): void {
  if (!socket.writable) {
    if (!socket.writableEnded) socket.destroy()
    return
  }
  // Nobody understands what comes from here on: listening to it oneself takes it from Node's parser, too.
  socket.removeAllListeners('data').on('data', () => {})
  end(socket, nothing, patience)
}

function end(socket: Duplex, bytes: Buffer, patience: number): void {
  const timer = setTimeout(() => socket.destroy(), patience)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(bytes)
  socket.resume()
}

const nothing = Buffer.alloc(0)

/** Cuts a connection so that the client sees that it is cut, where its end would be the end of the answer too. */
export function cutVisibly(socket: Duplex): void {
  // Of a Unix socket there is no reset.
  if (socket instanceof Socket && socket.remoteFamily !== undefined) socket.resetAndDestroy()
  else socket.destroy()
}
