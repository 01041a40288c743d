/** Bytes: a few dozen pages. */
const slabSize = 2 ** 18

/**
 * Cuts short-lived buffers from large ones; no byte is reused. A separate allocation for each would be external memory with an object that
 * V8's garbage collector traces, which costs more than reading a page from the system's cache. Code that keeps a buffer for longer must copy
 * it, because it keeps the whole slab alive.
 */
export class Slab {
  #bytes = Buffer.alloc(0)

  /** Returns uninitialised bytes, at most as many as a slab has. */
  next(size: number): Buffer {
    if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(slabSize)
    const cut = this.#bytes.subarray(0, size)
    this.#bytes = this.#bytes.subarray(size)
    return cut
  }
}

/**
 * Frees the memory of a buffer immediately instead of at V8's next garbage collection; afterwards the buffer is empty. Does nothing if the
 * buffer shares its memory with others. No other code may still use the buffer.
 */
export function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && buffer.byteLength === byteLength) buffer.transfer(0)
}
