import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { listElements } from '../../cache/fields.ts'
import { endGently } from './refuse.ts'

/** So many requests of one connection may wait for their answers; a client that has sent more asks again (RFC 9112 §9.3.2). */
const mostWaiting = 32
/** Behind the last one that is answered so many are thrown away; then the connection is cut: Node keeps something of each. */
const mostDropped = 64

/** Each part that answers a request listens for its end; Node warns of more than ten. */
const mostListeners = 32

/** A connection on which requests came. */
interface Pipeline {
  /** Their answers in the making, in order. */
  waiting: Set<ServerResponse>
  /** When the last of them had ended, by `performance.now`, and the bytes that had come until then. */
  endedAt: number
  bytesRead: number
}

/**
 * Whether Node ends a connection with the answer to a request, though nobody asked for it: its parser reads nothing behind an upgrade that
 * is not granted, and it closes behind an expectation that was not met, as there is no body to be sent.
 */
function isLast({ headers }: IncomingMessage): boolean {
  if (headers.upgrade !== undefined && listElements(headers.connection ?? null).includes('upgrade')) return true
  return (
    headers.expect !== undefined &&
    headers['transfer-encoding'] === undefined &&
    (headers['content-length'] ?? '0') === '0'
  )
}

/**
 * The requests of each connection that wait for their answers, in order. Node goes on parsing behind a request that was refused, and
 * reports a broken one before those in front of it are answered: this puts both right. It also takes any number of requests from a client
 * that reads no answer: here they are bounded.
 */
export class Pipelines {
  readonly #open = new Map<Duplex, Pipeline>()
  /** What begins the answers to those requests that have others in front of them. */
  readonly #begin = new WeakMap<ServerResponse, () => void>()
  /** How many requests were thrown away behind the last one. */
  readonly #refused = new WeakMap<Duplex, number>()
  #draining = false

  /** Takes up a request; false where the connection was refused before, so that nothing more of it is to be read. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const before = this.#open.get(socket)?.waiting
    // Behind the last answer of a connection a request would be carried out and never answered (RFC 9112 §9.6).
    if (socket.writableEnded || (before !== undefined && [...before].some((waiting) => !waiting.shouldKeepAlive)))
      this.refuse(socket)
    const dropped = this.#refused.get(socket)
    if (dropped !== undefined) {
      if (dropped === mostDropped) socket.destroy()
      this.#refused.set(socket, dropped + 1)
      return false
    }
    response.setMaxListeners(mostListeners)
    const pipeline = this.#pipelineOf(socket)
    const { waiting } = pipeline
    waiting.add(response)
    response.once('close', () => {
      waiting.delete(response)
      if (waiting.size > 0) return this.#next(waiting, socket.destroyed || !response.shouldKeepAlive)
      pipeline.endedAt = performance.now()
      pipeline.bytesRead = socket.bytesRead
    })
    if (this.#draining || waiting.size === mostWaiting || isLast(request)) this.#endBehind(socket, response)
    return true
  }

  #pipelineOf(socket: Socket): Pipeline {
    let pipeline = this.#open.get(socket)
    if (pipeline === undefined) {
      this.#open.set(socket, (pipeline = { waiting: new Set(), endedAt: 0, bytesRead: 0 }))
      socket.once('close', () => this.#open.delete(socket))
    }
    return pipeline
  }

  /** Its connection closes behind this answer, which says so. */
  #endBehind(socket: Duplex, response: ServerResponse): void {
    response.shouldKeepAlive = false
    this.refuse(socket)
  }

  /** Runs `begin` when all answers before this one are with the client: those that are made and not read would fill the memory. */
  inTurn(socket: Duplex, response: ServerResponse, begin: () => void): void {
    const [first] = this.#open.get(socket)?.waiting ?? []
    if (first === response || first === undefined) begin()
    else this.#begin.set(response, begin)
  }

  /** @param isOver the connection has ended, or ends behind the answer that was just sent: what waits is dropped */
  #next(waiting: ReadonlySet<ServerResponse>, isOver: boolean): void {
    const [next] = waiting
    if (next === undefined) return
    if (!isOver) return this.#begin.get(next)?.()
    // Node emits `close` for the response whose turn it was, and for no other.
    next.destroy()
    next.emit('close')
  }

  isIdle(socket: Duplex): boolean {
    return (this.#open.get(socket)?.waiting.size ?? 0) === 0
  }

  /** Each connection closes from now on behind the last request that it has sent; where the head of that answer is out, a further one is taken. */
  drain(): void {
    this.#draining = true
    for (const [socket, { waiting }] of this.#open) {
      const last = [...waiting].at(-1)
      if (last !== undefined && !last.headersSent && !this.#refused.has(socket)) this.#endBehind(socket, last)
    }
  }

  /** Closes the connections on which nothing has come since the last answer, for `quiet` milliseconds. */
  closeIdle(quiet: number): void {
    for (const [socket, { waiting, endedAt, bytesRead }] of this.#open as Map<Socket, Pipeline>) {
      if (waiting.size === 0 && socket.bytesRead === bytesRead && performance.now() - endedAt > quiet) endGently(socket)
    }
  }

  /** No requests come on this connection any more, but something else. */
  release(socket: Duplex): void {
    this.refuse(socket)
    this.#open.delete(socket)
  }

  /** Nothing that comes behind on this connection is taken up. */
  refuse(socket: Duplex): void {
    if (!this.#refused.has(socket)) this.#refused.set(socket, 0)
  }

  /** Refuses what the parser could not read: `say` runs, once, when all that came before is answered. */
  refuseBroken(socket: Duplex, say: () => void): void {
    if (this.#refused.has(socket)) return
    this.#refused.set(socket, 0)
    const waiting = [...(this.#open.get(socket)?.waiting ?? [])]
    // The request whose body turned out to be broken has an answer in the making.
    const broken = waiting.find((response) => !response.req.complete)
    const last = waiting.findLast((response) => response !== broken)
    const end = () => {
      if (broken?.headersSent === true) socket.destroy()
      else say()
    }
    if (last === undefined) end()
    else last.once('close', end)
  }
}
