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
  /** In the order in which they became free. */
  readonly #free = new Set<Taker>()
  readonly #given = new Map<Taker, Given>()
  readonly #waiting = new Set<Socket>()
  readonly #onSettled: (() => void)[] = []
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

  add(taker: Taker): void {
    this.#next(taker)
  }

  /** It has gone, and everything that it said was heard. */
  lose(taker: Taker): void {
    this.#free.delete(taker)
    const given = this.#given.get(taker)
    this.#given.delete(taker)
    if (given !== undefined) this.give(given.socket)
    this.#look()
  }

  /** A new connection, from which nothing was read. */
  give(socket: Socket): void {
    if (socket.destroyed) return
    const [taker] = this.#free
    if (this.#closed) socket.destroy()
    else if (taker !== undefined) this.#hand(taker, socket)
    else this.#wait(socket)
  }

  /** A process has taken the connection that it was given. */
  taken(taker: Taker, id: number): void {
    const given = this.#given.get(taker)
    if (given?.id !== id) return
    this.#given.delete(taker)
    // Ours is a copy: the connection goes on in the process that has taken it.
    given.socket.destroy()
    this.#next(taker)
  }

  /** It has read all up to this connection: one of which it has said nothing has not arrived, for want of a file handle there. */
  heard(taker: Taker, id: number): void {
    const given = this.#given.get(taker)
    if (given === undefined || given.id > id) return
    this.#given.delete(taker)
    this.give(given.socket)
    this.#next(taker)
  }

  /** Resolves when every connection that was given so far has been taken, or was closed. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled.push(resolve)
      this.#look()
    })
  }

  /** Closes the connections that no process has taken. */
  close(): void {
    this.#closed = true
    for (const socket of this.#waiting) socket.destroy()
    this.#waiting.clear()
    this.#look()
  }

  #look(): void {
    if (this.#waiting.size + this.#given.size === 0) for (const resolve of this.#onSettled.splice(0)) resolve()
  }

  #next(taker: Taker): void {
    const [socket] = this.#waiting
    if (socket !== undefined) return this.#hand(taker, socket)
    this.#free.add(taker)
    this.#look()
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
      this.#look()
    })
  }
}
