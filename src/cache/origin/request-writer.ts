import type { Socket } from 'node:net'
import { keepReadable } from './keep-readable.ts'
import type { RequestHead } from './request-head.ts'

/** Writes the requests of a connection: each head in one write with the beginning of its body. */
export class RequestWriter {
  /** Whether the request was written to its end. */
  done = true
  /** Why the shop takes no more of the request. The rest of it is dropped. */
  refused: Error | null = null
  readonly #socket: Socket
  /** Whether it has carried an upload: what cannot be refused half-way needs no watch over each write. */
  #isWatched = false
  #connected = false
  /** What waits for the connection. */
  #early: (string | Buffer)[] = []
  /** A head that waits for the first piece of the body. */
  #head: string | null = null
  /** Missing bytes of the body; null for chunks. */
  #owed: number | null = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  connected(): void {
    this.#connected = true
    this.#socket.cork()
    for (const bytes of this.#early.splice(0)) this.#write(bytes)
    this.#socket.uncork()
  }

  begin({ text, length }: RequestHead, body: Buffer | null): void {
    this.done = body !== null || length === 0
    this.#owed = length
    if (!this.done) this.#watch()
    // One string costs Node less than a head and a body that are sent together (`writev`).
    this.#head = body === null ? text : text + body.toString('latin1')
    // The first piece of a body that is not known yet is probably on its way.
    if (!this.done) setImmediate(() => this.#head === text && this.#writeHead())
    else this.#writeHead()
  }

  #watch(): void {
    if (!this.#isWatched) keepReadable(this.#socket, (error) => (this.refused = error))
    this.#isWatched = true
  }

  /**
   * Writes a piece of the body; false: wait until the connection has drained.
   *
   * @returns null when the piece exceeds the announced length
   */
  piece(bytes: Buffer): boolean | null {
    if (bytes.length === 0) return true
    if (this.done) return null
    if (this.#owed === null) {
      return this.#together(() => {
        this.#write(`${bytes.length.toString(16)}\r\n`)
        this.#write(bytes)
        return this.#write('\r\n')
      })
    }
    if (bytes.length > this.#owed) return null
    this.#owed -= bytes.length
    this.done = this.#owed === 0
    return this.#together(() => this.#write(bytes))
  }

  /** Ends the body; false when it is shorter than announced. */
  end(): boolean {
    if (this.done) return true
    if (this.#owed !== null) return false
    this.done = true
    this.#together(() => this.#write('0\r\n\r\n'))
    return true
  }

  /** Writes the head, if it was not yet, and more in one system call. */
  #together(write: () => boolean): boolean {
    this.#socket.cork()
    this.#writeHead()
    const flushed = write()
    this.#socket.uncork()
    return flushed
  }

  #writeHead(): void {
    if (this.#head === null) return
    this.#write(this.#head)
    this.#head = null
  }

  #write(bytes: string | Buffer): boolean {
    if (this.#connected) return this.#socket.write(bytes as string, 'latin1')
    this.#early.push(bytes)
    return false
  }
}
