import type { Socket } from 'node:net'
import type { View } from '../../cache/hot-views.ts'
import { inFlight } from '../../cache/in-flight.ts'
import { endGently } from './refuse.ts'
import { renderHead } from './render.ts'

/** Bytes. Larger bodies are written after their head instead of being copied into one buffer with it. */
const largestCopied = 64 * 1024

/** What was written. `flushed`: the kernel has taken all of it. */
interface Sent {
  flushed: boolean
  bytes: Buffer
}

/** Writes a page from memory to a socket. `isLast`: adds `Connection: close` and ends the connection. */
export function sendView(socket: Socket, view: View, isLast: boolean): Sent {
  const { status, headers, body } = view
  if (isLast) {
    socket.write(renderHead(status, [...headers, ['Connection', 'close']]))
    if (body !== null) socket.write(body)
    endGently(socket)
    return { flushed: true, bytes: body ?? nothing }
  }
  if (body !== null && body.length > largestCopied) {
    socket.cork()
    socket.write(renderHead(status, headers))
    const flushed = socket.write(body)
    socket.uncork()
    return { flushed, bytes: body }
  }
  view.bytes ??= body === null ? renderHead(status, headers) : Buffer.concat([renderHead(status, headers), body])
  return { flushed: socket.write(view.bytes), bytes: view.bytes }
}

const nothing = Buffer.alloc(0)

/**
 * Reads no further request until a slow client has received its answer. Meanwhile `bytes` counts towards the memory of all bodies being
 * sent.
 *
 * @param stall milliseconds until a client that does not read is cut
 * @param idle the connection's time-out afterwards, in milliseconds
 */
export function pauseUntilDrained(
  socket: Socket,
  { stall, idle }: { stall: number; idle: number },
  bytes: Buffer,
): void {
  socket.pause()
  socket.setTimeout(stall)
  holdUntilDrained(socket, bytes)
  socket.once('drain', () => {
    socket.setTimeout(idle)
    socket.resume()
  })
}

/** Counts bytes towards the memory of all bodies being sent, until a slow client has received them. */
export function holdUntilDrained(socket: Socket, bytes: Buffer): void {
  const lease = inFlight.bodies.hold(bytes, () => socket.destroy())
  const release = () => {
    socket.off('close', release).off('drain', release)
    lease.release()
  }
  socket.once('close', release).once('drain', release)
}
