import type { IncomingMessage } from 'node:http'

/** How often an upload is looked at, and the least it has to bring between two looks while we are waiting for it. */
const interval = 10_000
const leastBytes = 500

/**
 * Calls `onStall` when a request body comes so slowly that it only holds a connection (shared/threats: front). An upload that waits
 * for the shop to take it is not slow.
 */
export function watchBody(request: IncomingMessage, onStall: () => void): void {
  let seen = request.socket.bytesRead
  const timer = setInterval(() => {
    const read = request.socket.bytesRead
    const waitingForUs = request.readableLength > 0 || request.isPaused()
    if (!waitingForUs && read - seen < leastBytes) {
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
