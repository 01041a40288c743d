import { Socket } from 'node:net'
import { copyOf } from '../../lib/buffers.ts'

/** Where all connections read; as large as libuv's default. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

/** The handle of a socket, which Node does not document. */
interface Handle {
  useUserBuffer?(buffer: Buffer): void
}

/** The properties in which Node keeps the option `onread` of a socket; null if it has others. */
const properties = propertiesOf(() => false)

function propertiesOf(callback: () => boolean): { buffer: symbol; callback: symbol } | null {
  const socket = new Socket({ onread: { buffer: scratch, callback } })
  const find = (value: unknown) =>
    Object.getOwnPropertySymbols(socket).find((name) => (socket as unknown as Record<symbol, unknown>)[name] === value)
  const found = { buffer: find(scratch), callback: find(callback) }
  socket.destroy()
  return found.buffer && found.callback ? { buffer: found.buffer, callback: found.callback } : null
}

/**
 * Reads the chunks of a connection into a buffer that all connections share. Otherwise Node allocates 64 KiB for each chunk and copies it
 * once more. It has the option `onread` for this, but only for sockets that a program creates, not for those that a server accepts: there the
 * same properties are set. With a Node that has others, every chunk is emitted as `data`, as usual (docs/decisions/0170-shared-reads.md).
 *
 * @param take looks at a chunk that had begun to arrive before this turn of the event loop, whose bytes are valid until it returns; false: a
 * copy in memory of its own is emitted as `data`
 */
export function readShared(socket: Socket, take: (chunk: Buffer) => boolean): void {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null }
  if (properties === null || typeof handle?.useUserBuffer !== 'function') return
  let isFull = false
  const callback = (length: number) => {
    const chunk = scratch.subarray(0, length)
    // After a full buffer libuv reads on in the same turn, and gets what has arrived since it began.
    const isNext = !isFull && socket.readableLength === 0 && !socket.isPaused()
    isFull = length === scratch.length
    return (isNext && take(chunk)) || socket.push(copyOf(chunk))
  }
  Object.assign(socket, { [properties.buffer]: scratch, [properties.callback]: callback })
  handle.useUserBuffer(scratch)
}
