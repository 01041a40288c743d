import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { HotRequest, View } from '../../cache/hot.ts'
import { BanReader } from '../purge/ban-connection.ts'
import { EventReader, type EventFront } from '../stages/event-connection.ts'
import type { FrontOptions } from './front-options.ts'
import { mostFields } from './guard.ts'
import { parseHitRequest } from './hit-request.ts'
import { endGently, refuse } from './refuse.ts'
import { nextRequestId, RequestRecord } from './request-record.ts'
import { pauseUntilDrained, sendView } from './send-view.ts'

export interface HitOptions {
  /** Called for each connection that Node's server takes over, before it gets the first bytes. */
  handedOver(socket: Socket): void
  /** What answers requests now. A reload replaces its values under open connections. */
  front: EventFront & Pick<FrontOptions, 'cache' | 'purges' | 'onError'>
  /** Milliseconds until a connection without a first request gets 408. */
  silence: number
  /** Milliseconds until a connection closes between two requests. */
  idle: number
  /** Milliseconds until a client that does not read its answer is cut. */
  stall: number
}

const nothing = Buffer.alloc(0)

/**
 * Serves hits straight from the socket. A chunk that is exactly one plain GET for a page in memory, or exactly one event of a popup stage,
 * is answered here; the first chunk that is anything else hands the connection to Node's own server for good. The accepted requests are a
 * strict subset of what Node's parser accepts (test/http/front/plain-requests.test.ts compares the two), so nothing can be smuggled
 * between them. Purges by methods that Node does not know are answered here too, by a grammar of their own.
 */
export function serveHitsFirst(server: Server, options: HitOptions): { drain(): void; closeIdle(quiet: number): void } {
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const open = new Map<Socket, HitConnection>()
  let draining = false
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => open.delete(socket))
    const connection = new HitConnection(socket, options, (chunk) => {
      open.delete(socket)
      toNode!.call(server, socket)
      options.handedOver(socket)
      socket.emit('data', chunk)
    })
    open.set(socket, connection)
    if (draining) connection.drain()
    // `stopListening` may have paused it.
    socket.resume()
  })
  return {
    drain: () => {
      draining = true
      for (const connection of open.values()) connection.drain()
    },
    closeIdle: (quiet) => {
      for (const [socket, connection] of open) if (connection.isIdle(quiet)) endGently(socket)
    },
  }
}

/** A connection that Node's server has not taken over yet. */
class HitConnection {
  readonly #socket: Socket
  readonly #options: HitOptions
  readonly #handOver: (chunk: Buffer) => void
  readonly #isTrusted: () => boolean
  readonly #events: EventReader
  readonly #bans: BanReader
  readonly #listeners: readonly (readonly [event: string, listener: (chunk: Buffer) => void])[]
  #lastActive = performance.now()
  #answered = false
  /** The client has sent its last byte. */
  #ended = false
  /** The next answer is the last. */
  #draining = false

  constructor(socket: Socket, options: HitOptions, handOver: (chunk: Buffer) => void) {
    this.#socket = socket
    this.#options = options
    this.#handOver = handOver
    const { front, silence } = options
    this.#isTrusted = trustOf(socket, front)
    const proceed = (flushed: boolean, rest: Buffer) => this.#proceed(flushed, rest)
    this.#events = new EventReader(socket, front, (flushed) => proceed(flushed, nothing))
    this.#bans = new BanReader(socket, () => front.purges, silence, {
      proceed,
      leave: (bytes) => this.#leave(bytes),
      record: () => new RequestRecord(front.traffic, front.accessLog),
    })
    this.#listeners = [
      ['data', (chunk) => this.#onData(chunk)],
      ['timeout', () => this.#onTimeout()],
      ['error', () => socket.destroy()],
      ['end', () => this.#onEnd()],
    ]
    socket.setTimeout(silence)
    for (const [event, listener] of this.#listeners) socket.on(event, listener)
  }

  /** Makes the next answer the last. */
  drain(): void {
    this.#draining = true
    this.#bans.stop()
    this.#events.stop()
  }

  /** Whether no request is in progress and nothing has happened for `quiet` milliseconds. */
  isIdle(quiet: number): boolean {
    return !this.#isWorking && performance.now() - this.#lastActive > quiet
  }

  get #isWorking(): boolean {
    return this.#bans.working || this.#events.working
  }

  #onData(chunk: Buffer): void {
    const trusted = this.#isTrusted()
    if (this.#bans.take(chunk) || this.#events.take(chunk, trusted)) return
    const { front, idle } = this.#options
    const started = (this.#lastActive = performance.now())
    const view = findView(chunk, trusted, front)
    if (view === null) return this.#leave(chunk)
    if (!this.#answered) {
      this.#answered = true
      this.#socket.setTimeout(idle)
    }
    const sent = sendView(this.#socket, view, this.#draining)
    if (!sent.flushed) pauseUntilDrained(this.#socket, this.#options, sent.bytes)
    recordHit(front, view, performance.now() - started, () => parseHitRequest(chunk, trusted, mostFields)!)
  }

  /** A client may end its side and still wait for the answer. A paused socket reports its end too. */
  #onEnd(): void {
    this.#ended = true
    if (!this.#isWorking) this.#socket.end()
  }

  #onTimeout(): void {
    // The client does not read: what is still buffered will never be sent.
    if (this.#socket.writableLength > 0) this.#socket.destroy()
    else if (this.#answered) this.#socket.destroySoon()
    else refuse(this.#socket, 408, 'The request came too slowly.')
  }

  /** Hands the connection to Node's server, from this chunk on. */
  #leave(chunk: Buffer): void {
    for (const [event, listener] of this.#listeners) this.#socket.removeListener(event, listener)
    this.#socket.setTimeout(0)
    this.#handOver(chunk)
    if (!this.#ended) return
    this.#ended = false
    this.#socket.emit('end')
  }

  /** Reads on after an event or a purge was answered. */
  #proceed(flushed: boolean, rest: Buffer): void {
    this.#answered = true
    this.#lastActive = performance.now()
    this.#socket.setTimeout(this.#options.idle)
    if (flushed) this.#socket.resume()
    else pauseUntilDrained(this.#socket, this.#options, nothing)
    if (rest.length > 0) this.#onData(rest)
    if (this.#ended) this.#onEnd()
  }
}

function findView(chunk: Buffer, trusted: boolean, { cache, onError }: HitOptions['front']): View | null {
  try {
    const request = parseHitRequest(chunk, trusted, mostFields)
    return request === null ? null : cache.hot.find(request)
  } catch (error) {
    onError('Could not look up a page in memory', error)
    return null
  }
}

/** Returns whether the peer is a trusted proxy: looked up once per connection, and again after a reload. */
function trustOf({ remoteAddress }: Socket, front: EventFront): () => boolean {
  let judge = front.isTrusted
  let trusted = judge(remoteAddress)
  return () => {
    if (judge !== front.isTrusted) {
      judge = front.isTrusted
      trusted = judge(remoteAddress)
    }
    return trusted
  }
}

/** Counts a hit in the statistics and writes it to the access log, if there is one. */
function recordHit(
  { cache, traffic, accessLog }: HitOptions['front'],
  view: View,
  ms: number,
  parse: () => HotRequest,
): void {
  const { status } = view
  cache.hot.count(view, ms)
  traffic.count('hit', status, ms)
  if (accessLog === null) return
  const { host, target } = parse()
  const path = target.split('?', 1)[0]!
  accessLog({ id: nextRequestId(), method: 'GET', host, path, status, result: 'hit', ms, totalMs: ms })
}
