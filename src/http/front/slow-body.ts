import type { IncomingMessage } from 'node:http'

/** Milliseconds between two checks of an upload. */
const interval = 10_000
/** Bytes that must arrive between two checks while the daemon is reading. */
const minBytes = 500

/**
 * Calls `onStall` when a request body arrives so slowly that it merely occupies a connection (a "slow POST" attack). An upload that waits
 * because the shop reads slowly does not count.
 */
export function watchBody(request: IncomingMessage, onStall: () => void): void {
  let seen = request.socket.bytesRead
  const timer = setInterval(() => {
    const read = request.socket.bytesRead
    const isBlocked = request.readableLength > 0 || request.isPaused()
    if (!isBlocked && read - seen < minBytes) {
      clearInterval(timer)
      onStall()
    }
    seen = read
  }, interval)
  timer.unref()
  const stop = () => clearInterval(timer)
  request.once('end', stop)
  request.once('close', stop)
}
