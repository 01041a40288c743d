import type { Socket } from 'node:net'
import { largestChunk } from './plain-request.ts'

/** What a visitor sends while the shop is asked, for after that answer. A paused socket would not tell that the visitor leaves behind it. */
export class EarlyChunks {
  readonly #socket: Socket
  #chunks: Buffer[] = []

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Keeps a chunk, and reads no further where that is too much. */
  keep(chunk: Buffer): void {
    this.#chunks.push(chunk)
    if (this.#chunks.reduce((size, { length }) => size + length, 0) > largestChunk) this.#socket.pause()
  }

  /** Puts back what was kept, to be read when the socket is resumed. */
  putBack(): void {
    const chunks = this.#chunks.splice(0)
    if (chunks.length === 0 || this.#socket.readableEnded) return
    // A flowing socket would read the last chunk first.
    this.#socket.pause()
    for (const chunk of chunks.toReversed()) this.#socket.unshift(chunk)
  }
}
