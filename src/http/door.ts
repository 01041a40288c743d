import { createServer, type AddressInfo, type Server } from 'node:net'
import type { Child } from './child.ts'
import { Distributor } from './distributor.ts'
import { listenAt, type Place } from './listen.ts'

/** More connections than this do not wait for a process at once; what comes then is closed. */
const mostWaiting = 4096

/** Accepts the connections of a daemon of several processes and gives them to those that answer requests. */
export class Door {
  readonly #server: Server
  readonly #connections = new Distributor<Child>((child, id, socket) => child.hand(id, socket))
  #port: number | null = null
  #closing = false

  /** The port that it listens on; null where that is no port of its choice. */
  get port(): number | null {
    return this.#port
  }

  private constructor() {
    // Nothing is read here: it is for the process that answers.
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, socket => this.#connections.give(socket))
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
    child.on(message => {
      if (message.kind === 'taken' || message.kind === 'declined') this.#connections.settle(child, message.id, message.kind === 'taken')
      if (message.kind === 'pong') this.#connections.heard(child, message.handed)
      if (message.kind === 'closing') this.#leave(() => this.#connections.remove(child))
    })
    child.onSilence(() => this.#leave(() => this.#connections.lose(child)))
    this.#connections.add(child)
  }

  /** Closes as soon as no process takes connections any more. */
  close(): void {
    this.#closing = true
    this.#leave(() => {})
  }

  #leave(leave: () => void): void {
    leave()
    if (!this.#closing || this.#connections.takers > 0) return
    this.#server.close()
    this.#connections.close()
  }
}
