import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** The connections of a server, also those that it has handed over to others, tunnels too. */
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

  /** Resolves when the last one has ended. */
  ended(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends all of them; says on how many something was still to be said. */
  cut(): number {
    const unfinished = [...this.#open].filter((socket) => !socket.writableEnded)
    this.#open.forEach((socket) => socket.destroy())
    return unfinished.length
  }
}
