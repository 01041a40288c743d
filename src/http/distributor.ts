import type { Socket } from 'node:net'

/** How long a connection waits until a process is free, in milliseconds; then it is closed, so that whoever opened it learns that there is none. */
const longestWait = 10_000

interface Given {
  id: number
  socket: Socket
}

/**
 * Gives each connection to the process that has been free for longest. A process is given one at a time and says that it has taken it
 * before it reads a byte of it: what one that died has not taken is given to another, and one that hangs holds up no more than one.
 */
export class Distributor<Taker> {
  readonly #send: (taker: Taker, id: number, socket: Socket) => void
  readonly #takers = new Set<Taker>()
  /** In the order in which they became free. */
  readonly #free = new Set<Taker>()
  readonly #given = new Map<Taker, Given>()
  readonly #waiting = new Set<Socket>()
  #ids = 0
  readonly #patience: number
  #closed = false

  /**
   * @param send hands a connection over, and keeps it open here
   * @param patience milliseconds that a connection waits at most
   */
  constructor(send: (taker: Taker, id: number, socket: Socket) => void, patience = longestWait) {
    this.#send = send
    this.#patience = patience
  }

  /** Processes that take connections. */
  get takers(): number {
    return this.#takers.size
  }

  add(taker: Taker): void {
    this.#takers.add(taker)
    this.#next(taker)
  }

  /** It takes no more; what it was given before it may still take or decline. */
  remove(taker: Taker): void {
    this.#takers.delete(taker)
    this.#free.delete(taker)
  }

  /** It has gone, and everything that it said was heard. */
  lose(taker: Taker): void {
    this.remove(taker)
    const given = this.#given.get(taker)
    this.#given.delete(taker)
    if (given !== undefined) this.give(given.socket)
  }

  /** A new connection, from which nothing was read. */
  give(socket: Socket): void {
    if (socket.destroyed) return
    const [taker] = this.#free
    if (this.#closed) socket.destroy()
    else if (taker !== undefined) this.#hand(taker, socket)
    else this.#wait(socket)
  }

  /** What a process says of the connection that it was given. */
  settle(taker: Taker, id: number, taken: boolean): void {
    const given = this.#given.get(taker)
    if (given?.id !== id) return
    this.#given.delete(taker)
    // Ours is a copy: the connection goes on in the process that has taken it.
    if (taken) given.socket.destroy()
    else this.give(given.socket)
    if (this.#takers.has(taker)) this.#next(taker)
  }

  /** It has read all up to this connection: one of which it has said nothing has not arrived, for want of a file handle there. */
  heard(taker: Taker, id: number): void {
    const given = this.#given.get(taker)
    if (given !== undefined && given.id <= id) this.settle(taker, given.id, false)
  }

  /** Closes the connections that no process has taken. */
  close(): void {
    this.#closed = true
    for (const socket of this.#waiting) socket.destroy()
    this.#waiting.clear()
  }

  #next(taker: Taker): void {
    const [socket] = this.#waiting
    if (socket === undefined) this.#free.add(taker)
    else this.#hand(taker, socket)
  }

  #hand(taker: Taker, socket: Socket): void {
    this.#waiting.delete(socket)
    this.#free.delete(taker)
    socket.setTimeout(0)
    const id = (this.#ids += 1)
    this.#given.set(taker, { id, socket })
    this.#send(taker, id, socket)
  }

  #wait(socket: Socket): void {
    this.#waiting.add(socket)
    socket.setTimeout(this.#patience, () => {
      if (!this.#waiting.delete(socket)) return
      socket.destroy()
    })
  }
}
