import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** So many requests of one connection may wait for their answers; a client that has sent more asks again (RFC 9112 §9.3.2). */
const mostWaiting = 32
/** Behind the last one that is answered so many are thrown away; then the connection is cut: Node keeps something of each. */
const mostDropped = 64

/**
 * The requests of each connection that wait for their answers, in order. Node goes on parsing behind a request that was refused, and
 * reports a broken one before those in front of it are answered: this puts both right. It also takes any number of requests from a client
 * that reads no answer: here they are bounded.
 */
export class Pipelines {
  readonly #waiting = new WeakMap<Duplex, Set<ServerResponse>>()
  /** What begins the answers to those requests that have others in front of them. */
  readonly #begin = new WeakMap<ServerResponse, () => void>()
  /** How many requests were thrown away behind the last one. */
  readonly #refused = new WeakMap<Duplex, number>()

  /** Takes up a request; false where the connection was refused before, so that nothing more of it is to be read. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const dropped = this.#refused.get(socket)
    if (dropped !== undefined) {
      if (dropped === mostDropped) socket.destroy()
      this.#refused.set(socket, dropped + 1)
      return false
    }
    let waiting = this.#waiting.get(socket)
    if (waiting === undefined) this.#waiting.set(socket, (waiting = new Set()))
    waiting.add(response)
    response.once('close', () => {
      waiting.delete(response)
      this.#next(socket, waiting)
    })
    if (waiting.size === mostWaiting) {
      response.shouldKeepAlive = false
      this.refuse(socket)
    }
    return true
  }

  /** Runs `begin` when all answers before this one are with the client: those that are made and not read would fill the memory. */
  inTurn(response: ServerResponse, begin: () => void): void {
    const [first] = this.#waiting.get(response.req.socket) ?? []
    if (first === response || first === undefined) begin()
    else this.#begin.set(response, begin)
  }

  #next(socket: Duplex, waiting: ReadonlySet<ServerResponse>): void {
    const [next] = waiting
    if (next === undefined) return
    if (!socket.destroyed) return this.#begin.get(next)?.()
    // Node says so of the one alone whose turn it was.
    next.destroy()
    next.emit('close')
  }

  isIdle(socket: Duplex): boolean {
    return (this.#waiting.get(socket)?.size ?? 0) === 0
  }

  /** Nothing that comes behind on this connection is taken up. */
  refuse(socket: Duplex): void {
    if (!this.#refused.has(socket)) this.#refused.set(socket, 0)
  }

  /** Refuses what the parser could not read: `say` runs, once, when all that came before is answered. */
  refuseBroken(socket: Duplex, say: () => void): void {
    if (this.#refused.has(socket)) return
    this.#refused.set(socket, 0)
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
