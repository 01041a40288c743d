import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { copyOf } from '../../lib/buffers.ts'
import { BanReader } from '../purge/ban-connection.ts'
import { EventReader, type EventFront } from '../stages/event-connection.ts'
import { EarlyChunks } from './early-chunks.ts'
import { KeptBlock } from './field-block.ts'
import type { FrontOptions } from './front-options.ts'
import { Framing } from './framing.ts'
import { mostFields } from './guard.ts'
import { findView, recordHit } from './hits.ts'
import { PassReader, type PassFront } from './pass-connection.ts'
import type { Pipelines } from './pipelines.ts'
import { parsePlainRequest, toHitRequest, type PlainRequest } from './plain-request.ts'
import { schemeOf } from './proxied.ts'
import { endGently, ifStillSilent, refuse } from './refuse.ts'
import { RequestRecord } from './request-record.ts'
import { pauseUntilDrained, sendView } from './send-view.ts'
import { readShared } from './shared-reads.ts'

export interface HitOptions {
  /** Called for each chunk of a connection that Node's server has taken over, once it was read. */
  parsed(socket: Socket, chunk: Buffer): void
  /** The requests that Node's server has. */
  pipelines: Pick<Pipelines, 'hasAnswered' | 'touch'>
  /** What answers requests now. A reload replaces its values under open connections. */
  front: EventFront & PassFront & Pick<FrontOptions, 'purges'>
  /** Milliseconds until a connection without a first request gets 408. */
  silence: number
  /** Milliseconds until a connection closes between two requests. */
  idle: number
  /** Milliseconds until a client that does not read its answer is cut. */
  stall: number
}

const nothing = Buffer.alloc(0)

type Parse = (chunk: Buffer) => void

/**
 * Serves hits straight from the socket, and other plain requests too: a chunk that is exactly one plain GET or HEAD, one event of a popup stage, or
 * one request that the cache passes to the shop. The first chunk that is anything else gives the connection to Node's own server, with all further
 * chunks but those that are plain again and come when Node's parser is between two requests. The accepted requests are a strict subset of what Node's parser
 * accepts (test/http/front/plain-requests.test.ts compares the two), so nothing can be smuggled between them. Purges by methods that Node
 * does not know are answered here too, by a grammar of their own.
 */
export function serveHitsFirst(
  server: Server,
  options: HitOptions,
): { drain(): void; closeIdle(quiet: number): void; release(socket: Socket): void } {
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const open = new Map<Socket, HitConnection>()
  let draining = false
  server.on('connection', (socket: Socket) => {
    const connection = new HitConnection(socket, options, () => toNode!.call(server, socket))
    open.set(socket, connection)
    socket.once('close', () => {
      open.delete(socket)
      connection.abandon()
    })
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
    /** Stops reading a connection that no longer speaks HTTP. */
    release: (socket) => {
      open.get(socket)?.release()
      open.delete(socket)
    },
  }
}

/** A connection, whose chunks are read here first. */
class HitConnection {
  readonly #socket: Socket
  readonly #options: HitOptions
  readonly #toNode: () => void
  readonly #isTrusted: () => boolean
  readonly #scheme: string
  readonly #events: EventReader
  readonly #bans: BanReader
  readonly #passes: PassReader
  readonly #listeners: readonly (readonly [event: string, listener: (chunk: Buffer) => void])[]
  readonly #framing = new Framing()
  /** Gives a chunk to Node's parser. Null until Node's server has taken the connection over. */
  #parse: Parse | null = null
  readonly #early: EarlyChunks
  #lastActive = performance.now()
  #answered = false
  /** The client has sent its last byte. */
  #ended = false
  /** The next answer is the last. */
  #draining = false
  /** The fields of the last plain request. */
  readonly #kept = new KeptBlock()

  constructor(socket: Socket, options: HitOptions, toNode: () => void) {
    this.#socket = socket
    this.#options = options
    this.#toNode = toNode
    this.#early = new EarlyChunks(socket)
    const { front, silence } = options
    this.#isTrusted = trustOf(socket, front)
    this.#scheme = schemeOf(socket)
    const proceed = (flushed: boolean, rest: Buffer) => this.#proceed(flushed, rest)
    this.#events = new EventReader(socket, front, (flushed) => proceed(flushed, nothing))
    this.#bans = new BanReader(socket, () => front.purges, silence, {
      proceed,
      leave: (bytes) => this.#pass(bytes),
      record: () => new RequestRecord(front),
    })
    this.#passes = new PassReader(socket, front, options.stall, (flushed) => proceed(flushed, nothing))
    this.#listeners = [
      ['data', this.#onData],
      ['timeout', () => this.#onTimeout()],
      ['error', () => socket.destroy()],
      ['end', () => this.#onEnd()],
    ]
    socket.setTimeout(silence)
    for (const [event, listener] of this.#listeners) socket.on(event, listener)
    readShared(socket, (chunk) => this.#takeShared(chunk))
  }

  /** Makes the next answer the last. */
  drain(): void {
    this.#draining = true
    this.#bans.stop()
    this.#events.stop()
    this.#passes.stop()
  }

  /** Gives up what the visitor was waiting for. */
  abandon(): void {
    this.#passes.abandon()
  }

  /** Whether no request is in progress and nothing has happened for `quiet` milliseconds. `Pipelines` closes the connections of Node's server. */
  isIdle(quiet: number): boolean {
    return this.#parse === null && !this.#isWorking && performance.now() - this.#lastActive > quiet
  }

  get #isWorking(): boolean {
    return this.#bans.working || this.#events.working || this.#passes.working
  }

  release(): void {
    this.#socket.removeListener('data', this.#onData)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#passes.isHolding) return this.#takeRest(chunk)
    if (this.#passes.working) return this.#early.keep(chunk)
    const isNew = this.#parse === null
    const taken = (isNew && this.#bans.take(chunk)) || ((isNew || this.#isBetween) && this.#takePlain(chunk, isNew))
    if (!taken) this.#pass(chunk)
    if (this.#parse !== null) this.#options.parsed(this.#socket, chunk)
  }

  /** Handles a chunk that begins like a GET or HEAD, whose bytes are valid only meanwhile; false: its copy is to come as `data`. */
  #takeShared(chunk: Buffer): boolean {
    const isAlone = !this.#bans.isHolding && !this.#passes.isHolding && !this.#passes.working && this.#socket.writable
    if (this.#parse !== null || !isAlone || !mayBeRead(chunk)) return false
    const head = this.#readHead(chunk)
    if (head !== null && this.#takeHit(head, chunk, true)) return true
    const own = copyOf(chunk)
    if (head === null || !this.#takeOther(head, own, true)) this.#pass(own)
    if (this.#parse !== null) this.#options.parsed(this.#socket, own)
    return true
  }

  /** Answers a chunk that is a plain request; false where it is not. `isNew`: Node's server has not taken the connection over. */
  #takePlain(chunk: Buffer, isNew: boolean): boolean {
    const head = this.#readHead(chunk)
    return head !== null && (this.#takeHit(head, chunk, false) || this.#takeOther(head, chunk, isNew))
  }

  #readHead(chunk: Buffer): PlainRequest | null {
    this.#lastActive = performance.now()
    const head = parsePlainRequest(chunk, this.#isTrusted(), mostFields, this.#scheme, this.#kept.current)
    if (head !== null) this.#kept.keep(head.block)
    return head
  }

  #takeOther(head: PlainRequest, chunk: Buffer, isNew: boolean): boolean {
    return (isNew && this.#events.take(head, chunk)) || this.#passes.take(head, chunk, this.#isTrusted(), isNew)
  }

  /** Takes the second piece of a request whose first one was held back. */
  #takeRest(chunk: Buffer): void {
    const whole = Buffer.concat([this.#passes.release(), chunk])
    const head = parsePlainRequest(whole, this.#isTrusted(), mostFields, this.#scheme)
    if (head === null || !this.#passes.take(head, whole, this.#isTrusted(), false)) this.#pass(whole)
    if (this.#parse !== null) this.#options.parsed(this.#socket, whole)
  }

  /** Whether Node's server has the connection, its parser is at the start of a request, and all before are answered. */
  get #isBetween(): boolean {
    return (
      this.#socket.writable &&
      this.#framing.isWhole &&
      this.#options.pipelines.hasAnswered(this.#socket, this.#framing.requests)
    )
  }

  /** Answers a hit; false where the request is none. `beganEarlier` as in `HotPath.find`. */
  #takeHit(head: PlainRequest, chunk: Buffer, beganEarlier: boolean): boolean {
    const { front, idle } = this.#options
    const request = toHitRequest(head, chunk)
    const view = request === null ? null : findView(request, beganEarlier, front)
    if (request === null || view === null) return false
    if (!this.#answered && this.#parse === null) {
      this.#answered = true
      this.#socket.setTimeout(idle)
    }
    const sent = sendView(this.#socket, view, this.#draining)
    if (!sent.flushed) pauseUntilDrained(this.#socket, this.#options, sent.bytes)
    recordHit(front, request, view, performance.now() - this.#lastActive)
    if (this.#parse !== null) this.#options.pipelines.touch(this.#socket)
    return true
  }

  /** A client may end its side and still wait for the answer. A paused socket may report its end too. */
  #onEnd(): void {
    this.#ended = true
    if (this.#passes.isHolding) this.#pass(this.#passes.release())
    // The shop's work is given up, as Node's server does.
    else if (this.#passes.working) this.#socket.destroy()
    else if (!this.#isWorking) this.#socket.end()
  }

  #onTimeout(): void {
    // The client does not read: what is still buffered will never be sent.
    if (this.#socket.writableLength > 0) this.#socket.destroy()
    else if (this.#passes.isHolding) this.#pass(this.#passes.release())
    else
      ifStillSilent(this.#socket, () =>
        this.#answered ? this.#socket.destroySoon() : refuse(this.#socket, 408, 'The request came too slowly.'),
      )
  }

  /** Gives a chunk to Node's server, which takes the connection over with the first one. */
  #pass(chunk: Buffer): void {
    this.#framing.take(chunk)
    if (this.#parse !== null) return this.#parse(chunk)
    const socket = this.#socket
    for (const [event, listener] of this.#listeners) socket.removeListener(event, listener)
    socket.setTimeout(0)
    this.#toNode()
    const parse = (this.#parse = socket.listeners('data')[0] as Parse)
    socket.removeListener('data', parse)
    // Without a listener for `data`, Node's parser reads from the handle and emits nothing.
    socket.on('data', this.#onData)
    parse(chunk)
    if (!this.#ended) return
    this.#ended = false
    socket.emit('end')
  }

  /** Reads on after an event, a purge or a request for the shop was answered. */
  #proceed(flushed: boolean, rest: Buffer): void {
    this.#answered = true
    this.#lastActive = performance.now()
    this.#socket.setTimeout(this.#options.idle)
    if (this.#parse !== null) this.#options.pipelines.touch(this.#socket)
    this.#early.putBack()
    if (flushed) this.#socket.resume()
    else pauseUntilDrained(this.#socket, this.#options, nothing)
    if (rest.length > 0) this.#onData(rest)
    if (this.#ended) this.#onEnd()
  }
}

/** Whether the first byte is that of GET or HEAD. */
function mayBeRead(chunk: Buffer): boolean {
  return chunk[0] === 0x47 || chunk[0] === 0x48
}

/** Returns whether the peer is a trusted proxy: looked up once per connection, and again after a reload. */
function trustOf({ remoteAddress }: Socket, front: EventFront): () => boolean {
  let judge = front.isTrusted
  let trusted = judge(remoteAddress)
  return () => {
    if (judge !== front.isTrusted) [judge, trusted] = [front.isTrusted, front.isTrusted(remoteAddress)]
    return trusted
  }
}
