import type { Socket } from 'node:net'

/**
 * Keeps a socket open whose peer takes no more bytes: Node destroys it, together with what has arrived but was not
 * read, such as an early response to an upload (RFC 9112 §9.5). Nothing more is written, and reading ends with the
 * connection.
 */
export function keepReadable(socket: Socket, onRefused: (error: NodeJS.ErrnoException) => void): void {
  const write = socket._write
  const writev = socket._writev!
  let refused = false
  const guarded = (done: (error?: Error | null) => void) => (error?: NodeJS.ErrnoException | null) => {
    if (error?.code !== 'EPIPE' && error?.code !== 'ECONNRESET') return done(error)
    refused = true
    onRefused(error)
    done()
  }
  socket._write = (piece, encoding, done) => (refused ? done() : write.call(socket, piece, encoding, guarded(done)))
  socket._writev = (pieces, done) => (refused ? done() : writev.call(socket, pieces, guarded(done)))
}
