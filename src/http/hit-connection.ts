import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { HotPath, View } from '../proxy/hot.ts'
import { BanReader } from './ban-connection.ts'
import { mostFields } from './guard.ts'
import { renderHead } from './render.ts'
import { parseHitRequest } from './hit-request.ts'
import type { PurgeMethods } from './purge-methods.ts'

export interface HitOptions {
  hot: HotPath
  purges: PurgeMethods
  isTrusted(address: string | undefined): boolean
  onError(message: string, error: unknown): void
  /** A connection on which nothing was said is told 408 after this, one between two requests is closed; milliseconds. */
  silence: number
  idle: number
  /** A client that takes nothing of what it asked for is cut after this, in milliseconds. */
  stall: number
}

/** Larger bodies go out beside their head instead of in one piece with it. */
const onePiece = 64 * 1024

/**
 * Serves hits straight from the socket. A chunk that is exactly one plain GET for a page in memory is answered here; the first
 * one that is anything else goes, with its connection, to Node's own server for good. What is accepted is a strict subset
 * of what Node's parser accepts (test/http/hit-request.test.ts compares the two), so nothing can be smuggled between them.
 * The one thing beside it are purges by methods that Node does not know: they are answered here too, by a grammar of their own.
 */
export function serveHitsFirst(server: Server, options: HitOptions): { closeIdle(): void } {
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const open = new Map<Socket, BanReader>()
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => open.delete(socket))
    const bans = serve(socket, options, chunk => {
      open.delete(socket)
      toNode!.call(server, socket)
      socket.emit('data', chunk)
    })
    open.set(socket, bans)
  })
  return {
    closeIdle: () => {
      for (const [socket, bans] of open) {
        if (bans.working) bans.stop()
        else socket.end()
      }
    },
  }
}

function look(chunk: Buffer, trusted: boolean, { hot, onError }: HitOptions): View | null {
  try {
    const request = parseHitRequest(chunk, trusted, mostFields)
    return request === null ? null : hot.find(request)
  } catch (error) {
    onError('the hot path failed', error)
    return null
  }
}

function serve(socket: Socket, options: HitOptions, handOver: (chunk: Buffer) => void): BanReader {
  const trusted = options.isTrusted(socket.remoteAddress)
  let answered = false

  const onData = (chunk: Buffer) => {
    if (bans.take(chunk)) return
    const started = performance.now()
    const view = look(chunk, trusted, options)
    if (view === null) return leave(chunk)
    if (!answered) {
      answered = true
      socket.setTimeout(options.idle)
    }
    if (!send(socket, view)) waitForReader(socket, options)
    options.hot.count(view, performance.now() - started)
  }
  const onTimeout = () => {
    // What is still to be written never will be.
    if (socket.writableLength > 0) return socket.destroy()
    if (!answered) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    socket.destroySoon()
  }
  const onError = () => socket.destroy()
  const onEnd = () => socket.end()
  const leave = (chunk: Buffer) => {
    socket.removeListener('data', onData)
    socket.removeListener('timeout', onTimeout)
    socket.removeListener('error', onError)
    socket.removeListener('end', onEnd)
    socket.setTimeout(0)
    handOver(chunk)
  }
  const proceed = (rest: Buffer) => {
    answered = true
    socket.setTimeout(options.idle)
    if (rest.length > 0) onData(rest)
  }
  const bans = new BanReader(socket, options.purges, options.silence, { proceed, leave })
  socket.setTimeout(options.silence)
  socket.on('data', onData)
  socket.on('timeout', onTimeout)
  socket.on('error', onError)
  socket.on('end', onEnd)
  return bans
}

/** The client reads slower than it asks: no further request is read until it has caught up. */
function waitForReader(socket: Socket, { stall, idle }: HitOptions): void {
  socket.pause()
  socket.setTimeout(stall)
  socket.once('drain', () => {
    socket.setTimeout(idle)
    socket.resume()
  })
}

function send(socket: Socket, view: View): boolean {
  if (view.body.length > onePiece) {
    socket.cork()
    socket.write(renderHead(view.status, view.headers))
    const flushed = socket.write(view.body)
    socket.uncork()
    return flushed
  }
  view.bytes ??= Buffer.concat([renderHead(view.status, view.headers), view.body])
  return socket.write(view.bytes)
}
