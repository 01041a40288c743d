import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { readProxyHeader, type ProxiedClient } from './proxy-header.ts'

/** Why a connection was closed before its first request, with the cause for the log. */
const causes = {
  untrusted: 'its peer is not in trustedProxies',
  malformed: 'it did not begin with a PROXY header',
  incomplete: 'it ended within its PROXY header',
  late: 'its PROXY header did not arrive within a second',
} as const
export type Rejection = keyof typeof causes

/** Counts the rejected connections, and logs the first one of each kind: an attacker can open any number. */
export class Rejections {
  readonly counts: Record<Rejection, number> = { untrusted: 0, malformed: 0, incomplete: 0, late: 0 }
  readonly #warn: (message: string) => void

  constructor(warn: (message: string) => void) {
    this.#warn = warn
  }

  note(why: Rejection): void {
    this.counts[why] += 1
    if (this.counts[why] > 1) return
    this.#warn(
      `A connection was closed: ${causes[why]} (server.proxyProtocol). Further ones are counted in pagecache_connections_rejected_total.`,
    )
  }
}

/** Milliseconds from the connection to the end of its PROXY header. */
const patience = 1000

/** Connections whose proxy has terminated TLS. */
const secure = new WeakSet<Socket>()

/** The scheme of a connection: https where its PROXY header says so. */
export function schemeOf(socket: Socket): 'http' | 'https' {
  return secure.has(socket) ? 'https' : 'http'
}

/**
 * Reads a PROXY header from each connection before anything else sees its bytes. A connection without a valid header from a trusted proxy is
 * closed. Call it after all listeners for connections were added that read them.
 */
export function expectProxyHeaders(
  server: Server,
  front: { isTrusted(address: string | undefined): boolean },
  onRejected: (why: Rejection) => void,
): void {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (front.isTrusted(socket.remoteAddress))
      return readHeader(socket, onRejected, () => serve.forEach((listener) => listener.call(server, socket)))
    // A peer that has left has no address any more; a Unix socket has none at either end.
    const hasLeft = socket.remoteAddress === undefined && socket.localAddress !== undefined
    onRejected(hasLeft ? 'incomplete' : 'untrusted')
    socket.on('error', () => {}).destroy()
  })
}

function readHeader(socket: Socket, onRejected: (why: Rejection) => void, serve: () => void): void {
  let bytes: Buffer = Buffer.alloc(0)
  const reject = (why: Rejection) => {
    release()
    onRejected(why)
    socket.on('error', () => {}).destroy()
  }
  const onData = (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    const reading = readProxyHeader(bytes)
    if (reading.kind === 'partial') return
    if (reading.kind === 'malformed') return reject('malformed')
    release()
    socket.pause()
    represent(socket, reading.client)
    if (reading.length < bytes.length) socket.unshift(bytes.subarray(reading.length))
    serve()
  }
  const onEnd = () => reject('incomplete')
  const release = () => {
    clearTimeout(timer)
    socket.off('data', onData).off('end', onEnd).off('error', onEnd).off('close', release)
  }
  const timer = setTimeout(reject, patience, 'late')
  socket.on('data', onData).on('end', onEnd).on('error', onEnd).on('close', release)
  // `stopListening` may have paused it.
  socket.resume()
}

/**
 * Makes a connection look as if its client had connected itself. Every rule about addresses reads `remoteAddress`, so that none can mistake
 * the proxy for the client.
 */
function represent(socket: Socket, { address, scheme }: ProxiedClient): void {
  if (address !== null) Object.defineProperty(socket, 'remoteAddress', { value: address })
  if (scheme === 'https') secure.add(socket)
}
