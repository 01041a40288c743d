import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * The requests of each connection that wait for their answers, in order. Node goes on parsing behind a request that was refused, and
 * reports a broken one before those in front of it are answered: this puts both right.
 */
export class Pipelines {
  readonly #waiting = new WeakMap<Duplex, Set<ServerResponse>>()
  readonly #refused = new WeakSet<Duplex>()

  /** Takes up a request; false where the connection was refused before, so that nothing more of it is to be read. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    if (this.#refused.has(socket)) return false
    let waiting = this.#waiting.get(socket)
    if (waiting === undefined) this.#waiting.set(socket, (waiting = new Set()))
    waiting.add(response)
    response.once('close', () => waiting.delete(response))
    return true
  }

  isIdle(socket: Duplex): boolean {
    return (this.#waiting.get(socket)?.size ?? 0) === 0
  }

  /** Nothing that comes behind on this connection is taken up. */
  refuse(socket: Duplex): void {
    this.#refused.add(socket)
  }

  /** Refuses what the parser could not read: `say` runs, once, when all that came before is answered. */
  refuseBroken(socket: Duplex, say: () => void): void {
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    const waiting = [...(this.#waiting.get(socket) ?? [])]
    // The request whose body turned out to be broken has an answer in the making.
    const broken = waiting.find(response => !response.req.complete)
    const last = waiting.findLast(response => response !== broken)
    const end = () => {
      if (broken?.headersSent === true) socket.destroy()
      else say()
    }
    if (last === undefined) end()
    else last.once('close', end)
  }
}
