import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { listElements } from '../../cache/fields.ts'
import { endGently } from './refuse.ts'

/** Requests of one connection that may wait for their answers. The connection then closes and the client retries the rest (RFC 9112 §9.3.2). */
const maxWaiting = 32
/** Requests discarded after the last answered one before the connection is cut: Node keeps some memory for each. */
const maxDropped = 64

/** Listeners for the end of a response: each part that answers a request adds one, and Node warns of more than ten. */
const maxListeners = 32

/** The requests of one connection. */
interface Pipeline {
  /** Unfinished responses, in order. */
  waiting: Set<ServerResponse>
  /** Requests admitted so far. */
  admitted: number
  /** When the last answer ended, by `performance.now`. */
  endedAt: number
  /** Bytes received until then. */
  bytesRead: number
}

/**
 * Whether Node closes the connection after this request even though the client did not ask for it: its parser stops after an upgrade that
 * was not granted, and it closes after an expectation on a request without a body.
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
 * Pipelined requests of each connection, answered in order. Corrects three habits of Node's server: it keeps parsing after a refused
 * request, it reports a broken request before the ones ahead of it are answered, and it accepts any number of requests from a client that
 * reads no answer.
 */
export class Pipelines {
  readonly #open = new Map<Duplex, Pipeline>()
  /** Starts the answers of requests that wait for others. */
  readonly #begin = new WeakMap<ServerResponse, () => void>()
  /** Connections that accept no further request, with the number of requests discarded since. */
  readonly #refused = new WeakMap<Duplex, number>()
  #draining = false

  /** Admits a request; false where its connection accepts none, so that the request must be ignored. */
  enter(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const before = this.#open.get(socket)?.waiting
    // After the last answer of a connection, a request would be executed and never answered (RFC 9112 §9.6).
    if (socket.writableEnded || (before !== undefined && [...before].some((waiting) => !waiting.shouldKeepAlive)))
      this.refuse(socket)
    const dropped = this.#refused.get(socket)
    if (dropped !== undefined) {
      if (dropped === maxDropped) socket.destroy()
      this.#refused.set(socket, dropped + 1)
      return false
    }
    response.setMaxListeners(maxListeners)
    const pipeline = this.#pipelineOf(socket)
    const { waiting } = pipeline
    waiting.add(response)
    pipeline.admitted += 1
    response.once('close', () => {
      waiting.delete(response)
      if (waiting.size > 0) return this.#next(waiting, socket.destroyed || !response.shouldKeepAlive)
      this.touch(socket)
    })
    if (this.#draining || waiting.size === maxWaiting || isLast(request)) this.#closeAfter(socket, response)
    return true
  }

  #pipelineOf(socket: Socket): Pipeline {
    let pipeline = this.#open.get(socket)
    if (pipeline === undefined) {
      this.#open.set(socket, (pipeline = { waiting: new Set(), admitted: 0, endedAt: 0, bytesRead: 0 }))
      socket.once('close', () => this.#open.delete(socket))
    }
    return pipeline
  }

  /** Makes a response the last of its connection, with `Connection: close`. */
  #closeAfter(socket: Duplex, response: ServerResponse): void {
    response.shouldKeepAlive = false
    this.refuse(socket)
  }

  /** Runs `begin` once all earlier answers are with the client. Answers prepared ahead would pile up in memory. */
  inTurn(socket: Duplex, response: ServerResponse, begin: () => void): void {
    const [first] = this.#open.get(socket)?.waiting ?? []
    if (first === response || first === undefined) begin()
    else this.#begin.set(response, begin)
  }

  /** @param isOver whether the connection has ended or ends after the answer just sent; waiting requests are dropped then */
  #next(waiting: ReadonlySet<ServerResponse>, isOver: boolean): void {
    const [next] = waiting
    if (next === undefined) return
    if (!isOver) return this.#begin.get(next)?.()
    // Node emits `close` only for the response that is being sent.
    next.destroy()
    next.emit('close')
  }

  /** Whether a connection has no unfinished response. */
  isIdle(socket: Duplex): boolean {
    return (this.#open.get(socket)?.waiting.size ?? 0) === 0
  }

  /** Whether a connection has answered exactly this number of requests in full, and accepts the next one. */
  hasAnswered(socket: Duplex, requests: number): boolean {
    const pipeline = this.#open.get(socket)
    return pipeline?.admitted === requests && pipeline.waiting.size === 0 && !this.#refused.has(socket)
  }

  /** Notes that an answer has ended. */
  touch(socket: Socket): void {
    const pipeline = this.#open.get(socket)
    if (pipeline === undefined) return
    pipeline.endedAt = performance.now()
    pipeline.bytesRead = socket.bytesRead
  }

  /** Closes each connection after the last request that it has sent. Where the head of that answer is already out, one more request is admitted. */
  drain(): void {
    this.#draining = true
    for (const [socket, { waiting }] of this.#open) {
      const last = [...waiting].at(-1)
      if (last !== undefined && !last.headersSent && !this.#refused.has(socket)) this.#closeAfter(socket, last)
    }
  }

  /** Closes the connections that have received nothing for `quiet` milliseconds since their last answer. */
  closeIdle(quiet: number): void {
    for (const [socket, { waiting, endedAt, bytesRead }] of this.#open as Map<Socket, Pipeline>) {
      if (waiting.size === 0 && socket.bytesRead === bytesRead && performance.now() - endedAt > quiet) endGently(socket)
    }
  }

  /** Forgets a connection that has switched to another protocol. */
  release(socket: Duplex): void {
    this.refuse(socket)
    this.#open.delete(socket)
  }

  /** Ignores all further requests of a connection. */
  refuse(socket: Duplex): void {
    if (!this.#refused.has(socket)) this.#refused.set(socket, 0)
  }

  /** Refuses bytes that the parser rejected: runs `answer` once, after all earlier requests are answered. */
  refuseBroken(socket: Duplex, answer: () => void): void {
    if (this.#refused.has(socket)) return
    this.#refused.set(socket, 0)
    const waiting = [...(this.#open.get(socket)?.waiting ?? [])]
    // A request whose body turned out to be broken already has a response.
    const broken = waiting.find((response) => !response.req.complete)
    const last = waiting.findLast((response) => response !== broken)
    const end = () => {
      if (broken?.headersSent === true) socket.destroy()
      else answer()
    }
    if (last === undefined) end()
    else last.once('close', end)
  }
}
