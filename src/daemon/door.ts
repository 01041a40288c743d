import { createServer, type AddressInfo, type Server } from 'node:net'
import type { Child } from './child.ts'
import { Distributor } from './distributor.ts'
import { listenAt, stopListening, type Place } from './listen.ts'

/** More connections than this do not wait for a process at once; what comes then is closed. */
const mostWaiting = 4096

/** At the end a connection may wait for as long as a process that stands still with it takes to be noticed and killed, and a bit (milliseconds). */
const lastWait = 15_000

/** Accepts the connections of a daemon of several processes and gives them to those that answer requests. */
export class Door {
  readonly #server: Server
  readonly #connections = new Distributor<Child>((child, id, socket) => child.hand(id, socket))
  #port: number | null = null

  /** The port that it listens on; null where that is no port of its choice. */
  get port(): number | null {
    return this.#port
  }

  private constructor() {
    // Nothing is read here: it is for the process that answers.
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.#connections.give(socket))
    this.#server.maxConnections = mostWaiting
  }

  /** @throws LISTEN_FAILED when the place is taken or not ours */
  static async open(place: Place): Promise<Door> {
    const door = new Door()
    await listenAt(door.#server, place)
    if (place.kind === 'tcp') door.#port = (door.#server.address() as AddressInfo).port
    // What cannot be accepted, for want of file handles, is tried again by the system.
    door.#server.on('error', () => {})
    return door
  }

  /** A process that is ready. */
  add(child: Child): void {
    child.on((message) => {
      if (message.kind === 'taken') this.#connections.taken(child, message.id)
      if (message.kind === 'pong') this.#connections.heard(child, message.handed)
    })
    child.onSilence(() => this.#connections.lose(child))
    this.#connections.add(child)
  }

  /** Listens no more, and resolves when a process has taken each connection that was accepted until then. */
  async close(): Promise<void> {
    await stopListening(this.#server)
    const timer = setTimeout(() => this.#connections.close(), lastWait)
    await this.#connections.settled()
    clearTimeout(timer)
  }

  /** Listens no more, and closes what no process has taken. */
  shut(): void {
    this.#server.close()
    this.#connections.close()
  }
}
