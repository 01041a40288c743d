/**
 * Frees the memory of a buffer immediately instead of at V8's next garbage collection; afterwards the buffer is empty. Does nothing if the
 * buffer shares its memory with others. No other code may still use the buffer.
 */
export function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && buffer.byteLength === byteLength) buffer.transfer(0)
}
