import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FromChild } from './processes.ts'

/** Where the connections of a process come from that does not listen itself: its parent accepts them and hands them over. */
export class Inlet {
  /** Resolves when no connection comes any more. */
  readonly closed: Promise<void>
  /** Its parent has said so. */
  close!: () => void
  readonly #tell: (message: FromChild) => void
  #server: Server | null = null

  constructor(tell: (message: FromChild) => void) {
    this.#tell = tell
    this.closed = new Promise((resolve) => (this.close = resolve))
  }

  /** From now on connections are the server's; its parent gives it none before it has heard of that. */
  open(server: Server): void {
    this.#server = server
    // A server that listens nowhere: its limits on the time that a request may take begin with this.
    server.emit('listening')
  }

  /** @param socket undefined where the connection has gone on the way */
  take(id: number, socket: Socket | undefined): void {
    // Said before a byte is read: what nobody has taken is given to another process.
    this.#tell({ kind: 'taken', id })
    if (socket === undefined) return
    // As on a connection that the server has accepted itself: who has sent all is still answered.
    socket.allowHalfOpen = true
    this.#server!.emit('connection', socket)
  }
}
