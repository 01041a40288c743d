import type { Readable, Writable } from 'node:stream'

/**
 * Frees the memory of a body's pieces as soon as the kernel has taken them, rather than at the next garbage collection:
 * hundreds of megabytes flow to slow readers before the collector runs. The memory is detached and never reused, so
 * that a mistake would show as an error, never as another visitor's response. Call it before `body` is piped.
 *
 * @param body a response from the shop; its pieces must not be kept elsewhere
 */
export function releaseSentPieces(body: Readable, reader: Writable): void {
  const passed: ArrayBuffer[] = []
  let current: ArrayBuffer | null = null
  body.on('data', (piece: Buffer) => {
    const memory = piece.buffer as ArrayBuffer
    // The parser may report one piece in several parts; the piece is complete when another begins.
    if (memory === current) return
    if (current !== null) passed.push(current)
    current = isShared(memory) ? null : memory
    if (reader.writableLength > 0) return
    for (const each of passed.splice(0)) each.transfer(0)
  })
}

/** Whether this is Node's pool, from which it slices small buffers. */
function isShared(memory: ArrayBuffer): boolean {
  return memory.byteLength === Buffer.poolSize
}
