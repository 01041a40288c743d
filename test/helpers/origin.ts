import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A request as received, with its header lines in their original order and spelling. */
export interface SeenRequest {
  method: string
  /** The request target, raw. */
  url: string
  /** The target without its query. */
  path: string
  rawHeaders: readonly (readonly [name: string, value: string])[]
  /** Lower-case names; repeated lines joined with a comma. */
  headers: Readonly<Record<string, string>>
  /** The whole body if a prepared reply answered. A function reads it with `readBody`. */
  body: Buffer
  at: number
}

/** A prepared response. `Content-Length` is set from the body unless the headers contain one. */
export interface Reply {
  status?: number
  headers?: Readonly<Record<string, string | readonly string[]>>
  body?: string | Buffer
}

export type Handler = (
  request: SeenRequest,
  response: ServerResponse,
  incoming: IncomingMessage,
) => Reply | undefined | Promise<Reply | undefined> | void | Promise<void>

/** Writes raw bytes. It must end or destroy the socket, from which no further request is read. */
export type RawHandler = (socket: Socket, request: SeenRequest) => void | Promise<void>

export interface Origin {
  url: string
  host: string
  port: number
  /** Every request so far, oldest first. */
  requests: SeenRequest[]
  /** Number of requests for a path (any query), for a target (if it has a `?`), or in total. */
  hits(target?: string): number
  /** The last request for a path, or the last one of all. Throws if there was none. */
  last(target?: string): SeenRequest
  /** Answers a path (any query) with a prepared reply or by a function; a later call replaces it. */
  on(path: string, handler: Handler | Reply): void
  /** Answers paths without a handler. Default: 404. */
  otherwise(handler: Handler | Reply): void
  /** Answers a path with raw bytes on the socket, for responses that no HTTP server would send. */
  raw(path: string, handler: RawHandler): void
  /** Answers upgrade requests (the socket is destroyed without a handler). */
  onUpgrade(handler: (request: SeenRequest, socket: Duplex, head: Buffer) => void): void
  /** Forgets the requests seen; the handlers stay. */
  forget(): void
  /** Number of open connections. */
  connections(): number
  stop(): Promise<void>
}

type Route = { kind: 'http'; handler: Handler | Reply } | { kind: 'raw'; handler: RawHandler }

/** A scripted shop on 127.0.0.1 that records requests and answers as the test says. Default: a free port. */
export async function startOrigin(options: { port?: number; otherwise?: Handler | Reply } = {}): Promise<Origin> {
  const routes = new Map<string, Route>()
  const requests: SeenRequest[] = []
  const sockets = new Set<Socket>()
  let fallback: Route = { kind: 'http', handler: options.otherwise ?? { status: 404, body: 'not found' } }
  let upgrade: ((request: SeenRequest, socket: Duplex, head: Buffer) => void) | null = null

  const listener: RequestListener = (incoming, response) => {
    const seen = record(incoming)
    requests.push(seen)
    void answer(routes.get(seen.path) ?? fallback, seen, incoming, response)
  }
  const server = createServer({ maxHeaderSize: 1 << 20, keepAliveTimeout: 60_000, requestTimeout: 0 }, listener)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Tests reset connections, which must not crash the origin.
    socket.on('error', () => {})
  })
  server.on('upgrade', (incoming, socket, head) => {
    const seen = record(incoming)
    requests.push(seen)
    if (upgrade === null) socket.destroy()
    else upgrade(seen, socket, head)
  })
  const port = await listen(server, options.port ?? 0)
  const of = (target?: string) => requests.filter((request) => matches(request, target))

  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    port,
    requests,
    hits: (target) => of(target).length,
    last(target) {
      const request = of(target).at(-1)
      if (request === undefined) throw new Error(`the origin saw no request for ${target ?? 'anything'}`)
      return request
    },
    on: (path, handler) => void routes.set(path, { kind: 'http', handler }),
    otherwise: (handler) => void (fallback = { kind: 'http', handler }),
    raw: (path, handler) => void routes.set(path, { kind: 'raw', handler }),
    onUpgrade: (handler) => void (upgrade = handler),
    forget: () => void requests.splice(0),
    connections: () => sockets.size,
    stop: () => close(server, sockets),
  }
}

/** Waits until the whole body of an incoming request was read. */
export async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function answer(route: Route, seen: SeenRequest, incoming: IncomingMessage, response: ServerResponse) {
  try {
    if (route.kind === 'raw') return await route.handler(incoming.socket, seen)
    if (typeof route.handler !== 'function') {
      seen.body = await readBody(incoming)
      return send(response, route.handler, seen.method)
    }
    const reply = await route.handler(seen, response, incoming)
    if (reply !== undefined) send(response, reply, seen.method)
  } catch (error) {
    // The response shows the error of a handler, so that the test fails with it.
    if (!response.headersSent) send(response, { status: 599, body: String(error) }, seen.method)
    else response.destroy()
  }
}

function send(response: ServerResponse, reply: Reply, method: string): void {
  const body = Buffer.from(reply.body ?? '')
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    response.setHeader(name, typeof value === 'string' ? value : [...value])
  }
  const status = reply.status ?? 200
  const bodyless = status === 204 || status === 304
  if (!bodyless && !response.hasHeader('content-length') && !response.hasHeader('transfer-encoding')) {
    response.setHeader('content-length', body.length)
  }
  response.writeHead(status)
  response.end(method === 'HEAD' || bodyless ? undefined : body)
}

function record(incoming: IncomingMessage): SeenRequest {
  const rawHeaders: [string, string][] = []
  const headers: Record<string, string> = Object.create(null)
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] ?? ''
    const value = incoming.rawHeaders[i + 1] ?? ''
    rawHeaders.push([name, value])
    const lower = name.toLowerCase()
    headers[lower] = headers[lower] === undefined ? value : `${headers[lower]}, ${value}`
  }
  const url = incoming.url ?? ''
  const path = url.split('?', 1)[0] ?? ''
  return { method: incoming.method ?? '', url, path, rawHeaders, headers, body: Buffer.alloc(0), at: Date.now() }
}

function matches(request: SeenRequest, target: string | undefined): boolean {
  if (target === undefined) return true
  return target.includes('?') ? request.url === target : request.path === target
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

async function close(server: Server, sockets: Set<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  for (const socket of sockets) socket.destroy()
  await closed
}
