import { createServer, type AddressInfo, type Server } from 'node:net'
import type { Child } from './child.ts'
import { Distributor } from './distributor.ts'
import { listenAt, stopListening, type ListenAddress } from './listen.ts'

/** Connections that may wait for a process. Further ones are closed. */
const maxWaiting = 4096

/** Milliseconds that a connection may wait during shutdown: somewhat longer than it takes to detect and kill a hanging process. */
const shutdownWait = 15_000

/** Accepts the connections of a daemon with several processes and distributes them to those that answer requests. */
export class Acceptor {
  readonly #server: Server
  readonly #connections = new Distributor<Child>((child, id, socket) => child.sendConnection(id, socket))
  #port: number | null = null

  /** The TCP port; null on a Unix or inherited socket. */
  get port(): number | null {
    return this.#port
  }

  private constructor() {
    // Reading is left to the process that answers.
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) =>
      this.#connections.distribute(socket),
    )
    this.#server.maxConnections = maxWaiting
  }

  /** @throws LISTEN_FAILED when the address is in use or not permitted */
  static async open(address: ListenAddress): Promise<Acceptor> {
    const acceptor = new Acceptor()
    await listenAt(acceptor.#server, address)
    if (address.kind === 'tcp') acceptor.#port = (acceptor.#server.address() as AddressInfo).port
    // After a failed accept (out of file handles, say) Node retries.
    acceptor.#server.on('error', () => {})
    return acceptor
  }

  /** Adds a process that is ready. */
  add(child: Child): void {
    child.on((message) => {
      if (message.kind === 'accepted') this.#connections.acknowledge(child, message.id)
      if (message.kind === 'pong') this.#connections.confirmRead(child, message.lastConnection)
    })
    child.onDisconnect(() => this.#connections.remove(child))
    this.#connections.add(child)
  }

  /** Stops listening. Resolves when every accepted connection is with a process. */
  async close(): Promise<void> {
    await stopListening(this.#server)
    const timer = setTimeout(() => this.#connections.close(), shutdownWait)
    await this.#connections.settled()
    clearTimeout(timer)
  }

  /** Stops listening and closes the connections that no process has acknowledged. */
  abort(): void {
    this.#server.close()
    this.#connections.close()
  }
}
