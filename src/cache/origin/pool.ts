import { Connection, type ConnectionOwner, type ConnectionTimeouts, type Task } from './connection.ts'
import { endpointOf, type Endpoint } from './connect.ts'

/** The connections to one endpoint. */
export class Pool implements ConnectionOwner {
  /** Host and port of the shop, for a request without a Host field. */
  readonly host: string
  readonly #endpoint: Endpoint
  readonly #timeouts: ConnectionTimeouts
  readonly #mostIdle: number
  readonly #onEmpty: () => void
  readonly #all = new Set<Connection>()
  /** The last one is used first, so that the others can grow old and be closed. */
  readonly #idle: Connection[] = []
  /** Connections that have carried their response in this turn. */
  #resting: Connection[] = []

  /**
   * @param site see `endpointOf`
   * @param mostIdle the most connections that are kept without a request
   */
  constructor(origin: string, site: string, timeouts: ConnectionTimeouts, mostIdle: number, onEmpty: () => void) {
    this.host = new URL(origin).host
    this.#endpoint = endpointOf(origin, site)
    this.#timeouts = timeouts
    this.#mostIdle = mostIdle
    this.#onEmpty = onEmpty
  }

  /** Sends a request on a kept connection, or on a new one. */
  carry(task: Task, fresh = false): Connection {
    const connection = (fresh ? undefined : this.#idle.pop()) ?? this.#open()
    connection.carry(task)
    return connection
  }

  #open(): Connection {
    const connection = new Connection(this.#endpoint, this.#timeouts, this)
    this.#all.add(connection)
    return connection
  }

  /**
   * Keeps a connection for the next request, after a turn of the event loop: what the shop sent behind its response, or
   * that it closed the connection, is known by then.
   */
  onFree(connection: Connection): void {
    if (this.#resting.push(connection) > 1) return
    setImmediate(() => {
      const rested = this.#resting
      this.#resting = []
      for (const each of rested) {
        if (!this.#all.has(each)) continue
        if (this.#idle.length < this.#mostIdle) this.#idle.push(each)
        else each.destroy()
      }
    })
  }

  onClosed(connection: Connection): void {
    this.#all.delete(connection)
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#all.size === 0) this.#onEmpty()
  }

  /** Ends all connections. */
  close(): void {
    for (const connection of this.#all) connection.cut()
  }
}
