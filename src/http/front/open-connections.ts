import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** All open connections of a server, including those that it has handed over, such as tunnels. */
export class OpenConnections {
  readonly #open = new Set<Socket>()
  readonly #waiting: (() => void)[] = []

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => {
        this.#open.delete(socket)
        if (this.#open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve()
      })
    })
  }

  /** Resolves when the last connection has closed. */
  ended(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Destroys all connections. Returns how many of them still had something to send. */
  cut(): number {
    const unfinished = [...this.#open].filter((socket) => !socket.writableEnded)
    this.#open.forEach((socket) => socket.destroy())
    return unfinished.length
  }
}
