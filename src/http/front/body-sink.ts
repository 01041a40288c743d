import type { Socket } from 'node:net'
import { Writable } from 'node:stream'

const lineBreak = Buffer.from('\r\n')
export const lastChunk = Buffer.from('0\r\n\r\n')

/** A piece of a body in the chunked coding. */
export function toChunk(piece: Buffer): Buffer[] {
  return [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, lineBreak]
}

interface Connection {
  socket: Socket
  /** Milliseconds until a client that does not read is cut. */
  stall: number
}

/** A stream that writes a body to a socket, each piece once the kernel has taken the one before. A body that fails cuts the connection. */
export function openBodySink({ socket, stall }: Connection, chunked: boolean, onEnd: () => void): Writable {
  const sink = new Writable({
    write: (piece: Buffer, _, done) => {
      const parts = chunked ? toChunk(piece) : [piece]
      socket.cork()
      for (const part of parts.slice(0, -1)) socket.write(part)
      socket.write(parts.at(-1)!, (error) => {
        socket.setTimeout(0)
        done(error)
      })
      socket.uncork()
      // While the shop is slow, the visitor may wait as long as it likes.
      if (socket.writableLength > 0) socket.setTimeout(stall)
    },
    final: (done) => {
      onEnd()
      done()
    },
  })
  // The connection is cut below.
  sink.on('error', () => {})
  return sink.once('close', () => sink.writableFinished || socket.destroy())
}
