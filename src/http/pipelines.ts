import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { listElements } from '../proxy/fields.ts'

/** So many requests of one connection may wait for their answers; a client that has sent more asks again (RFC 9112 §9.3.2). */
const mostWaiting = 32
/** Behind the last one that is answered so many are thrown away; then the connection is cut: Node keeps something of each. */
const mostDropped = 64

/**
 * Whether Node ends a connection with the answer to a request, though nobody asked for it: its parser reads nothing behind an upgrade that
 * is not granted, and it closes behind an expectation that was not met, as there is no body to be sent.
 */
function isLast({ headers }: IncomingMessage): boolean {
  if (headers.upgrade !== undefined && listElements(headers.connection ?? null).includes('upgrade')) return true
  return headers.expect !== undefined && headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
}

/**
 * The requests of each connection that wait for their answers, in order. Node goes on parsing behind a request that was refused, and
 * reports a broken one before those in front of it are answered: this puts both right. It also takes any number of requests from a client
 * that reads no answer: here they are bounded.
 */
export class Pipelines {
  readonly #waiting = new WeakMap<Duplex, Set<ServerResponse>>()
  /** How many requests were thrown away behind the last one. */
  readonly #refused = new WeakMap<Duplex, number>()

  /** Takes up a request; false where the connection was refused before, so that nothing more of it is to be read. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const before = this.#waiting.get(socket)
    // Behind the last answer of a connection a request would be carried out and never answered (RFC 9112 §9.6).
    if (socket.writableEnded || (before !== undefined && [...before].some((waiting) => !waiting.shouldKeepAlive))) this.refuse(socket)
    const dropped = this.#refused.get(socket)
    if (dropped !== undefined) {
      if (dropped === mostDropped) socket.destroy()
      this.#refused.set(socket, dropped + 1)
      return false
    }
    const waiting = before ?? new Set()
    if (before === undefined) this.#waiting.set(socket, waiting)
    if (isLast(request)) response.shouldKeepAlive = false
    waiting.add(response)
    response.once('close', () => waiting.delete(response))
    if (waiting.size === mostWaiting) {
      response.shouldKeepAlive = false
      this.refuse(socket)
    }
    return true
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
