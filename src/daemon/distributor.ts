import type { Socket } from 'node:net'

/** Milliseconds that a connection waits for a free process before it is closed. */
const maxWait = 10_000

interface Sent {
  id: number
  socket: Socket
}

/**
 * Sends each connection to the worker that has been free for the longest time. A worker gets one connection at a time and acknowledges it
 * before reading from it. So a connection that a dead worker has not acknowledged goes to another one, and a worker that hangs holds up
 * at most one connection.
 */
export class Distributor<Worker> {
  readonly #send: (worker: Worker, id: number, socket: Socket) => void
  /** In the order in which they became free. */
  readonly #free = new Set<Worker>()
  /** Connections that were sent and not acknowledged yet. */
  readonly #sent = new Map<Worker, Sent>()
  readonly #waiting = new Set<Socket>()
  readonly #onSettled: (() => void)[] = []
  #lastId = 0
  readonly #maxWait: number
  #closed = false

  /**
   * @param send sends a connection to a worker and keeps it open here
   * @param waitLimit milliseconds that a connection waits for a free worker
   */
  constructor(send: (worker: Worker, id: number, socket: Socket) => void, waitLimit = maxWait) {
    this.#send = send
    this.#maxWait = waitLimit
  }

  /** Adds a worker that is ready. */
  add(worker: Worker): void {
    this.#next(worker)
  }

  /** Removes a worker that has ended, after all its messages have been read. */
  remove(worker: Worker): void {
    this.#free.delete(worker)
    const sent = this.#sent.get(worker)
    this.#sent.delete(worker)
    if (sent !== undefined) this.distribute(sent.socket)
    this.#checkSettled()
  }

  /** Distributes a new connection, from which nothing has been read. */
  distribute(socket: Socket): void {
    if (socket.destroyed) return
    const [worker] = this.#free
    if (this.#closed) socket.destroy()
    else if (worker !== undefined) this.#sendTo(worker, socket)
    else this.#wait(socket)
  }

  /** Notes that a worker serves the connection that it was sent. */
  acknowledge(worker: Worker, id: number): void {
    const sent = this.#sent.get(worker)
    if (sent?.id !== id) return
    this.#sent.delete(worker)
    // This is only a copy: the connection lives on in the worker.
    sent.socket.destroy()
    this.#next(worker)
  }

  /**
   * Notes that a worker has read all messages up to this connection. If it did not acknowledge the connection, it ran out of file handles
   * and the connection goes to another worker.
   */
  confirmRead(worker: Worker, id: number): void {
    const sent = this.#sent.get(worker)
    if (sent === undefined || sent.id > id) return
    this.#sent.delete(worker)
    this.distribute(sent.socket)
    this.#next(worker)
  }

  /** Resolves when every connection so far has been acknowledged or closed. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled.push(resolve)
      this.#checkSettled()
    })
  }

  /** Closes the connections that wait for a worker, and all further ones. */
  close(): void {
    this.#closed = true
    for (const socket of this.#waiting) socket.destroy()
    this.#waiting.clear()
    this.#checkSettled()
  }

  #checkSettled(): void {
    if (this.#waiting.size + this.#sent.size === 0) for (const resolve of this.#onSettled.splice(0)) resolve()
  }

  #next(worker: Worker): void {
    const [socket] = this.#waiting
    if (socket !== undefined) return this.#sendTo(worker, socket)
    this.#free.add(worker)
    this.#checkSettled()
  }

  #sendTo(worker: Worker, socket: Socket): void {
    this.#waiting.delete(socket)
    this.#free.delete(worker)
    socket.setTimeout(0)
    const id = (this.#lastId += 1)
    this.#sent.set(worker, { id, socket })
    this.#send(worker, id, socket)
  }

  #wait(socket: Socket): void {
    this.#waiting.add(socket)
    socket.setTimeout(this.#maxWait, () => {
      if (!this.#waiting.delete(socket)) return
      socket.destroy()
      this.#checkSettled()
    })
  }
}
