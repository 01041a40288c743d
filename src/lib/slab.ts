/** Bytes: a few dozen pages. */
const slabSize = 2 ** 18

/**
 * Cuts buffers that live for a moment out of large ones, each byte once. A buffer of its own for each is external memory with an object that V8's
 * garbage collector traces, which costs more than to read a page from the system's cache. Who keeps a buffer for longer copies it: it keeps the
 * whole slab alive.
 */
export class Slab {
  #bytes = Buffer.alloc(0)

  /** Uninitialised bytes, at most as many as a slab has. */
  next(size: number): Buffer {
    if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(slabSize)
    const cut = this.#bytes.subarray(0, size)
    this.#bytes = this.#bytes.subarray(size)
    return cut
  }
}
