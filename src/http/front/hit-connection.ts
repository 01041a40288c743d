import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { HotRequest, View } from '../../cache/hot.ts'
import { inFlight } from '../../cache/in-flight.ts'
import { BanReader } from '../purge/ban-connection.ts'
import { EventReader, type EventFront } from '../stages/event-connection.ts'
import { mostFields } from './guard.ts'
import { endGently, refuse } from './refuse.ts'
import { renderHead } from './render.ts'
import { parseHitRequest } from './hit-request.ts'
import type { FrontOptions } from './front-options.ts'
import { nextRequestId, type AccessLog } from './request-record.ts'

export interface HitOptions {
  /** Told of each connection that Node's server takes over, before it gets the first bytes. */
  handedOver(socket: Socket): void
  /** What answers now: a reload exchanges it under the connections that are open. */
  front: EventFront & Pick<FrontOptions, 'cache' | 'purges' | 'onError'>
  /** A connection on which nothing was said is told 408 after this, one between two requests is closed; milliseconds. */
  silence: number
  idle: number
  /** A client that takes nothing of what it asked for is cut after this, in milliseconds. */
  stall: number
}

/** A connection that nobody has handed over to Node yet. */
interface OwnConnection {
  readers: { readonly working: boolean; stop(): void }[]
  /** Whether no request is in hand and nothing has happened since it was made, or last answered, for so many milliseconds. */
  isIdle(quiet: number): boolean
}

const nothing = Buffer.alloc(0)

/** Larger bodies go out beside their head instead of in one piece with it. */
const onePiece = 64 * 1024

/**
 * Serves hits straight from the socket. A chunk that is exactly one plain GET for a page in memory is answered here, and so is one
 * that is exactly one event of a popup stage; the first one that is anything else goes, with its connection, to Node's own server
 * for good. What is accepted is a strict subset of what Node's parser accepts (test/http/front/plain-requests.test.ts compares the two),
 * so nothing can be smuggled between them. Purges by methods that Node does not know are answered here too, by a grammar of their own.
 */
export function serveHitsFirst(server: Server, options: HitOptions): { drain(): void; closeIdle(quiet: number): void } {
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const open = new Map<Socket, OwnConnection>()
  const end = { draining: false }
  const stop = ({ readers }: OwnConnection) => readers.forEach((reader) => reader.stop())
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => open.delete(socket))
    const connection = serve(socket, options, end, (chunk) => {
      open.delete(socket)
      toNode!.call(server, socket)
      options.handedOver(socket)
      socket.emit('data', chunk)
    })
    open.set(socket, connection)
    if (end.draining) stop(connection)
    // It may have been held until now (`stopListening`).
    socket.resume()
  })
  return {
    drain: () => {
      end.draining = true
      open.forEach(stop)
    },
    closeIdle: (quiet) => {
      for (const [socket, { isIdle }] of open) if (isIdle(quiet)) endGently(socket)
    },
  }
}

function look(chunk: Buffer, trusted: boolean, { cache, onError }: HitOptions['front']): View | null {
  try {
    const request = parseHitRequest(chunk, trusted, mostFields)
    return request === null ? null : cache.hot.find(request)
  } catch (error) {
    onError('the hot path failed', error)
    return null
  }
}

/** @param end `draining`: each answer is the last of its connection */
function serve(
  socket: Socket,
  options: HitOptions,
  end: { readonly draining: boolean },
  handOver: (chunk: Buffer) => void,
): OwnConnection {
  const { front } = options
  let active = performance.now()
  const isTrusted = trustOf(socket, front)
  let answered = false

  const onData = (chunk: Buffer) => {
    const trusted = isTrusted()
    if (bans.take(chunk) || events.take(chunk, trusted)) return
    const started = (active = performance.now())
    const view = look(chunk, trusted, front)
    if (view === null) return leave(chunk)
    if (!answered) {
      answered = true
      socket.setTimeout(options.idle)
    }
    const sent = (end.draining ? sendLast : send)(socket, view)
    if (!sent.flushed) waitForReader(socket, options, sent.bytes)
    account(front, view, performance.now() - started, () => parseHitRequest(chunk, trusted, mostFields)!)
  }
  let ended = false
  // A client that has said its last word still waits for the answer to it. A paused socket tells of its end too.
  const onEnd = () => {
    ended = true
    if (!bans.working && !events.working) socket.end()
  }
  const leave = (chunk: Buffer) => {
    for (const [name, listener] of listeners) socket.removeListener(name, listener)
    socket.setTimeout(0)
    handOver(chunk)
    if (!ended) return
    ended = false
    socket.emit('end')
  }
  const proceed = (flushed: boolean, rest: Buffer) => {
    answered = true
    active = performance.now()
    socket.setTimeout(options.idle)
    if (flushed) socket.resume()
    else waitForReader(socket, options, nothing)
    if (rest.length > 0) onData(rest)
    if (ended) onEnd()
  }
  const events = new EventReader(socket, front, (flushed) => proceed(flushed, nothing))
  const bans = new BanReader(socket, () => front.purges, options.silence, { proceed, leave })
  const listeners = Object.entries({
    data: onData,
    timeout: () => timeOut(socket, answered),
    error: () => socket.destroy(),
    end: onEnd,
  })
  socket.setTimeout(options.silence)
  for (const [name, listener] of listeners) socket.on(name, listener)
  return {
    readers: [bans, events],
    isIdle: (quiet) => !bans.working && !events.working && performance.now() - active > quiet,
  }
}

/** Whether the peer is a trusted proxy: looked up once for all its requests, and again after a reload. */
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

function timeOut(socket: Socket, answered: boolean): void {
  // What is still to be written never will be.
  if (socket.writableLength > 0) return void socket.destroy()
  if (answered) socket.destroySoon()
  else refuse(socket, 408, 'The request came too slowly.')
}

/** A hit in the statistics, and in the log where one is kept. */
function account(
  { cache, traffic, accessLog }: HitOptions['front'],
  view: View,
  ms: number,
  request: () => HotRequest,
): void {
  cache.hot.count(view, ms)
  traffic.count('hit', view.status, ms)
  if (accessLog !== null) logHit(accessLog, request(), view, ms)
}

function logHit(log: AccessLog, { host, target }: HotRequest, { status }: View, ms: number): void {
  log({
    id: nextRequestId(),
    method: 'GET',
    host,
    path: target.split('?', 1)[0]!,
    status,
    result: 'hit',
    ms,
    totalMs: ms,
  })
}

/**
 * The client reads slower than it asks: no further request is read until it has caught up. What is kept for it meanwhile counts among all
 * bodies that are being sent.
 */
function waitForReader(socket: Socket, { stall, idle }: HitOptions, kept: Buffer): void {
  socket.pause()
  socket.setTimeout(stall)
  const lease = inFlight.bodies.hold(kept, () => socket.destroy())
  const release = () => lease.release()
  socket.once('close', release)
  socket.once('drain', () => {
    socket.removeListener('close', release)
    release()
    socket.setTimeout(idle)
    socket.resume()
  })
}

/** Sends the last answer of a connection, which says so. */
function sendLast(socket: Socket, { status, headers, body }: View): { flushed: boolean; bytes: Buffer } {
  socket.write(renderHead(status, [...headers, ['Connection', 'close']]))
  socket.write(body)
  endGently(socket)
  return { flushed: true, bytes: body }
}

function send(socket: Socket, view: View): { flushed: boolean; bytes: Buffer } {
  const { body } = view
  if (body.length > onePiece) {
    socket.cork()
    socket.write(renderHead(view.status, view.headers))
    const flushed = socket.write(body)
    socket.uncork()
    return { flushed, bytes: body }
  }
  view.bytes ??= Buffer.concat([renderHead(view.status, view.headers), body])
  return { flushed: socket.write(view.bytes), bytes: view.bytes }
}
