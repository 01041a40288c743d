/**
 * Cuts short-lived buffers from large ones; no byte is reused. A separate allocation for each would be external memory with an object that
 * V8's garbage collector traces, which costs more than reading a page from the system's cache. Code that keeps a buffer for longer must
 * `compact` it, because it keeps the whole slab alive.
 */
export class Slab {
  readonly #size: number
  #bytes = Buffer.alloc(0)

  /** @param size bytes of each large buffer */
  constructor(size: number) {
    this.#size = size
  }

  /** Returns uninitialised bytes. More than a quarter of a large buffer get one of their own. */
  next(size: number): Buffer<ArrayBuffer> {
    if (size > this.#size / 4) return Buffer.allocUnsafeSlow(size)
    if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(this.#size)
    const cut = this.#bytes.subarray(0, size)
    this.#bytes = this.#bytes.subarray(size)
    return cut
  }
}

/** Copies a buffer that is part of a larger one, which it would otherwise keep alive. */
export function compact(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength === bytes.length ? bytes : copyOf(bytes)
}

/** Copies bytes into memory of their size. `Buffer.from` would keep 64 KiB of Node's pool alive for a single one. */
export function copyOf(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}

/**
 * Frees the memory of a buffer immediately instead of at V8's next garbage collection; afterwards the buffer is empty. Does nothing if the
 * buffer shares its memory with others. No other code may still use the buffer.
 */
export function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && buffer.byteLength === byteLength) buffer.transfer(0)
}
