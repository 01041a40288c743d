/**
 * Frees the memory of a buffer at once, instead of when V8 collects its garbage; afterwards the buffer is empty. Does nothing to a buffer that
 * shares its memory with others. The caller must be the only one that still has it.
 */
export function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && buffer.byteLength === byteLength) buffer.transfer(0)
}
