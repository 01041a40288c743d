import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FromChild } from './processes.ts'

/** Receives the connections of a process that does not listen itself: its parent accepts them and sends them over. */
export class ConnectionReceiver {
  /** Resolves when no more connections will come. */
  readonly closed: Promise<void>
  /** Resolves `closed`. */
  close!: () => void
  readonly #send: (message: FromChild) => void
  #server: Server | null = null

  constructor(send: (message: FromChild) => void) {
    this.#send = send
    this.closed = new Promise((resolve) => (this.close = resolve))
  }

  /** Passes connections to this server from now on. The parent sends none before this process is ready. */
  open(server: Server): void {
    this.#server = server
    // The server does not listen. This event starts its check of request time-outs.
    server.emit('listening')
  }

  /** @param socket undefined if the connection closed on its way here */
  receive(id: number, socket: Socket | undefined): void {
    // Acknowledged before a byte is read: the parent sends unacknowledged connections to another process.
    this.#send({ kind: 'accepted', id })
    if (socket === undefined) return
    // As on connections that the server accepts itself: a client that has ended its side still gets its answer.
    socket.allowHalfOpen = true
    this.#server!.emit('connection', socket)
  }
}
