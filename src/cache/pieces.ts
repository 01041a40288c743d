import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'

/** The most that is read from a shop's connection at once, in bytes: half of what Node reads, for two hundred slow readers hold two each. */
const largest = 32 * 1024

/**
 * Every connection reads into this one; libuv fills it and hands it over in one turn (on Windows it does not, and there each
 * connection reads as Node does).
 */
const scratch = Buffer.allocUnsafeSlow(largest)

/** How connections to a shop read: in pieces that have their memory to themselves, so that it can be given back (`freeTaken`). */
export const readInPieces =
  process.platform === 'win32'
    ? {}
    : {
        highWaterMark: largest / 2,
        onread: {
          buffer: scratch,
          callback(this: Socket, bytes: number): boolean {
            const piece = Buffer.allocUnsafeSlow(bytes)
            scratch.copy(piece, 0, 0, bytes)
            return this.push(piece)
          },
        },
      }

/**
 * Gives the memory of a body's pieces back as soon as the kernel has taken them, instead of when it is next collected: hundreds of
 * megabytes flow into the buffers of slow readers' connections before the collector sees a reason to run. Detached and not used again
 * for other bytes: a mistake here would show as an error, never as another visitor's answer. To be called before `body` is piped.
 *
 * @param body a shop's answer; nobody else may keep its pieces
 */
export function freeTaken(body: Readable, reader: Writable): void {
  const passed: ArrayBuffer[] = []
  let current: ArrayBuffer | null = null
  body.on('data', (piece: Buffer) => {
    const memory = piece.buffer as ArrayBuffer
    // The parser reports one piece in several parts; the last of it is out when another begins.
    if (memory === current) return
    if (current !== null) passed.push(current)
    current = isShared(memory) ? null : memory
    if (reader.writableLength > 0) return
    for (const each of passed.splice(0)) each.transfer(0)
  })
}

/** Node cuts small buffers from one of this size. */
function isShared(memory: ArrayBuffer): boolean {
  return memory.byteLength === Buffer.poolSize
}
