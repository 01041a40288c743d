import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { toPairs } from '../proxy/fields.ts'
import type { HotRequest } from '../proxy/hot.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { plainAnswer } from '../proxy/refusal.ts'
import type { Visit } from '../proxy/visit.ts'
import { examine, largestHead, type Accepted } from './guard.ts'
import { serveHitsFirst } from './hit-connection.ts'
import { renderHead } from './render.ts'
import { respond } from './respond.ts'
import { watchBody } from './slow-body.ts'
import { tunnel } from './tunnel.ts'

export interface FrontOptions {
  proxy: Proxy
  /** Answers what is the daemon's own; false where the request is a visitor's. */
  own(request: IncomingMessage, response: ServerResponse): boolean
  isTrusted(address: string | undefined): boolean
  onError(message: string, error: unknown): void
}

/** Milliseconds: a head has to be there within ten seconds (checked each second), a reader has to take something within thirty. */
const headTimeout = 8500
const writeStall = 30_000
const keptAlive = 65_000

/** The server in front of the shop: hits from the socket, everything else through Node's HTTP and the proxy. */
export function createFront(options: FrontOptions): { server: Server; closeIdle(): void } {
  const server = createServer({
    maxHeaderSize: largestHead + 8192,
    headersTimeout: headTimeout,
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: keptAlive,
    insecureHTTPParser: false,
    noDelay: true,
  })
  // More fields than this are refused, not dropped: a dropped one could be the one that matters.
  server.maxHeadersCount = 0
  server.timeout = writeStall
  server.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0) socket.destroy()
  })
  server.on('request', (request, response) => {
    handle(request, response, options).catch((error: unknown) => {
      options.onError('a request failed', error)
      respond(response, plainAnswer(500, 'Something went wrong here.'))
    })
  })
  server.on('upgrade', (request, socket, head) => {
    const accepted = examineRequest(request, options)
    if ('status' in accepted) return refuse(socket as Socket, accepted.status, accepted.text)
    tunnel(request, socket as Socket, head, visitOf(request, accepted, options, new AbortController().signal, () => {}), options.proxy)
  })
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405, 'CONNECT is not allowed here.'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => onClientError(error, socket))
  const { closeIdle } = serveHitsFirst(server, { hot: options.proxy.hot, isTrusted: options.isTrusted, onError: options.onError, silence: headTimeout + 500, idle: keptAlive })
  return { server, closeIdle }
}

function examineRequest(request: IncomingMessage, options: FrontOptions) {
  return examine(request.method!, request.url!, toPairs(request.rawHeaders), options.isTrusted(request.socket.remoteAddress))
}

async function handle(request: IncomingMessage, response: ServerResponse, options: FrontOptions): Promise<void> {
  const started = performance.now()
  const accepted = examineRequest(request, options)
  if ('status' in accepted) {
    const refusal = plainAnswer(accepted.status, accepted.text)
    return respond(response, { ...refusal, headers: [...refusal.headers, ...(accepted.headers ?? []), ['Connection', 'close']] })
  }
  if (options.own(request, response)) return
  if (request.method === 'GET' && answerHot(request, response, accepted, options.proxy, started)) return
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (hasBody(request)) {
    watchBody(request, () => {
      gone.abort()
      respond(response, { ...plainAnswer(408, 'The request came too slowly.'), body: null })
      request.socket.destroySoon()
    })
  }
  const answer = await options.proxy.answer(
    visitOf(request, accepted, options, gone.signal, (status, headers) => {
      if (!response.headersSent && !response.destroyed) request.socket.write(renderHead(status, headers))
    }),
  )
  // A body that nobody reads must not be taken for the next request.
  if (hasBody(request) && !request.complete) answer.headers.push(['Connection', 'close'])
  respond(response, answer)
}

/** Hits on connections that are Node's already: the same look into memory as on the socket. */
function answerHot(request: IncomingMessage, response: ServerResponse, accepted: Accepted, proxy: Proxy, started: number): boolean {
  const { headers } = request
  if (hasBody(request) || headers.range !== undefined || headers.authorization !== undefined || headers['if-modified-since'] !== undefined) return false
  if (headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined) return false
  const asked: HotRequest = {
    ...accepted,
    cookie: headers.cookie ?? null,
    acceptEncoding: headers['accept-encoding'] ?? null,
    ifNoneMatch: headers['if-none-match'] ?? null,
    unkeyedCookies: null,
    field: name => {
      const value = headers[name]
      return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
    },
  }
  const view = proxy.hot.find(asked)
  if (view === null) return false
  respond(response, view)
  proxy.hot.count(view, performance.now() - started)
  return true
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}

function visitOf(request: IncomingMessage, accepted: Accepted, options: FrontOptions, signal: AbortSignal, onInterim: Visit['onInterim']): Visit {
  const address = request.socket.remoteAddress ?? null
  const forwarded = request.headers['x-forwarded-for']
  return {
    method: request.method!,
    ...accepted,
    headers: toPairs(request.rawHeaders),
    remoteAddress: address,
    forwardedFor: options.isTrusted(address ?? undefined) && typeof forwarded === 'string' ? forwarded : null,
    body: hasBody(request) ? request : null,
    signal,
    onInterim,
  }
}

/** What Node's parser refuses: the connection is told why and closed. */
function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') refuse(socket, 431, 'The header fields are too large.')
  else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuse(socket, 408, 'The request came too slowly.')
  else refuse(socket, 400, 'The request is not valid HTTP.')
}

function refuse(socket: Socket, status: number, text: string): void {
  const { headers, body } = plainAnswer(status, text)
  socket.write(Buffer.concat([renderHead(status, [...headers, ['Connection', 'close']]), body as Buffer]))
  socket.destroySoon()
}
