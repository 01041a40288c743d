import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { connectionFields, fieldValue, toPairs, withoutFields } from '../proxy/fields.ts'
import type { HotRequest } from '../proxy/hot.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { plainAnswer } from '../proxy/refusal.ts'
import type { Visit } from '../proxy/visit.ts'
import { examine, largestHead, type Accepted, type Refusal, type RequestHead } from './guard.ts'
import { serveHitsFirst } from './hit-connection.ts'
import { LateBans } from './late-bans.ts'
import { OpenConnections } from './open-connections.ts'
import { Pipelines } from './pipelines.ts'
import { isPurgeMethod, purgeHeaders, reasonOf, type PurgeMethods } from './purge-methods.ts'
import { tagFields } from './purge-order.ts'
import { refuse } from './refuse.ts'
import { renderHead } from './render.ts'
import { currentRequest, RequestRecord, type AccessLog } from './request-record.ts'
import { awaitsContinue, respond } from './respond.ts'
import { watchBody } from './slow-body.ts'
import type { StageEndpoints } from './stages.ts'
import { resultOf, type Traffic } from './traffic.ts'
import { mayTunnel, tunnel } from './tunnel.ts'

export interface FrontOptions {
  proxy: Proxy
  purges: PurgeMethods
  /** Answers what is the daemon's own; false where the request is a visitor's. `pass` hands it on to the shop after all, its body read. */
  own(request: IncomingMessage, response: ServerResponse, pass: PassOn): boolean
  stages: StageEndpoints
  isTrusted(address: string | undefined): boolean
  traffic: Traffic
  /** Null: no access log is kept. */
  accessLog: AccessLog | null
  /** A request that does not come from memory has begun; what comes back is called when it is over. */
  begin(): () => void
  onError(message: string, error: unknown): void
}

/** `standIn`: the site that is meant where the Host names none. False where there is no such site: nothing was answered. */
export type PassOn = (body: Buffer, standIn: Pick<Accepted, 'scheme' | 'host'> | null) => Promise<boolean>

export interface Front {
  server: Server
  /** Ends the connections on which nothing is going on; one that was only just made is left its first second. */
  closeIdle(): void
  connections: OpenConnections
}

/** Milliseconds: a head has to be there within ten seconds (checked each second); a reader who takes nothing is cut at the second look, within thirty. */
const headTimeout = 8500
const writeStall = 15_000
const keptAlive = 65_000

/**
 * The server in front of the shop: hits from the socket, everything else through Node's HTTP and the proxy. What it needs is looked up in
 * `options` for each request: a reload puts other values there.
 */
export function createFront(options: FrontOptions): Front {
  const server = createServer({
    maxHeaderSize: largestHead + 8192,
    headersTimeout: headTimeout,
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: keptAlive,
    insecureHTTPParser: false,
    noDelay: true,
    shouldUpgradeCallback: mayTunnel,
    // The guard looks at it: Node would refuse the request and read on behind it.
    requireHostHeader: false,
  })
  const pipelines = new Pipelines()
  // More fields than this are refused, not dropped: a dropped one could be the one that matters.
  server.maxHeadersCount = 0
  server.timeout = writeStall
  server.on('timeout', (socket: Socket) => {
    // A visitor who waits for the shop is left alone; one who does not read, or says nothing more, is not.
    if (socket.writableLength > 0 || pipelines.isIdle(socket)) socket.destroy()
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse) => takeUp(request, response, options, pipelines)
  server.on('request', onRequest)
  // Without a listener Node asks for the body before anybody has looked at the head.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', (request, response) => {
    if (!pipelines.enter(request, response)) return
    pipelines.refuse(request.socket)
    refuseRequest(request, response, { status: 417, text: 'This expectation is not met here.' }, null)
  })
  server.on('upgrade', (request, socket, head) => {
    pipelines.refuse(socket)
    const accepted = examineRequest(request, options)
    if ('status' in accepted) return refuse(socket, accepted.status, accepted.text, accepted.headers)
    tunnel(request, socket as Socket, head, visitOf(request, accepted, options, new AbortController().signal, () => {}), options.proxy)
  })
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405, 'CONNECT is not allowed here.'))
  const bans = new LateBans(() => options.purges, pipelines)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => bans.take(error, socket) || onClientError(error, socket, pipelines))
  const hits = serveHitsFirst(server, { front: options, silence: headTimeout + 500, idle: keptAlive, stall: writeStall })
  const closeIdle = () => {
    hits.closeIdle()
    server.closeIdleConnections()
  }
  return { server, closeIdle, connections: new OpenConnections(server) }
}

/** Answers a request, and keeps account of it. */
function takeUp(request: IncomingMessage, response: ServerResponse, options: FrontOptions, pipelines: Pipelines): void {
  if (!pipelines.enter(request, response)) return
  const record = new RequestRecord(options.traffic, options.accessLog)
  const over = options.begin()
  response.once('close', () => {
    over()
    record.end(request.method!, response.headersSent ? response.statusCode : 0)
  })
  const begin = () => {
    handle(request, response, options, pipelines, record).catch((error: unknown) => {
      options.onError('a request failed', error)
      respond(response, plainAnswer(500, 'Something went wrong here.'))
    })
  }
  pipelines.inTurn(response, () => currentRequest.run(record, begin))
}

function headOf(request: IncomingMessage): RequestHead {
  return { method: request.method!, target: request.url!, version: request.httpVersion, headers: toPairs(request.rawHeaders) }
}

function examineRequest(request: IncomingMessage, options: FrontOptions) {
  return examine(headOf(request), options.isTrusted(request.socket.remoteAddress))
}

async function handle(request: IncomingMessage, response: ServerResponse, options: FrontOptions, pipelines: Pipelines, record: RequestRecord): Promise<void> {
  const accepted = examineRequest(request, options)
  if ('status' in accepted) {
    pipelines.refuse(request.socket)
    return refuseRequest(request, response, accepted, record)
  }
  record.accepted = accepted
  if (isPurgeMethod(request.method!)) return purge(request, response, accepted, options.purges, record)
  const pass: PassOn = async (body, standIn) => {
    const known = options.proxy.classifying.channels.find(accepted.scheme, accepted.host, accepted.target) !== null
    if (!known && standIn === null) return false
    await passOn(request, response, known ? accepted : { ...accepted, ...standIn }, Readable.from([body]), options, record)
    return true
  }
  // The absolute form names the same site, as the guard has seen to (RFC 9112 §3.2.2).
  request.url = accepted.target
  if (options.own(request, response, pass)) return record.is('own')
  if (options.stages.serve(request, response, accepted)) return record.is('stage')
  if (request.method === 'GET' && !wantsTags(request, options) && answerHot(request, response, accepted, options.proxy, record)) return
  if (hasBody(request)) {
    if (awaitsContinue(request)) response.writeContinue()
    const { socket } = request
    watchBody(request, () => {
      // What is under way to the shop ends with the connection: to end it first would cut the answer off.
      pipelines.refuse(socket)
      refuseRequest(request, response, { status: 408, text: 'The request came too slowly.' }, record)
    })
  }
  await passOn(request, response, accepted, hasBody(request) ? request : null, options, record)
}

/** Whether a cache in front of us asks for the tags of a page, by which it will be purged (docs/varnish.md). */
function wantsTags(request: IncomingMessage, options: FrontOptions): boolean {
  return request.headers['x-pagecache-tags'] !== undefined && options.isTrusted(request.socket.remoteAddress)
}

/** Through the cache or to the shop. */
async function passOn(request: IncomingMessage, response: ServerResponse, accepted: Accepted, body: Readable | null, options: FrontOptions, record: RequestRecord): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const answer = await options.proxy.answer({
    ...visitOf(request, accepted, options, gone.signal, (status, headers) => {
      // A response that others stand before has no socket yet: what is written past it would land in the midst of them.
      if (!response.headersSent && request.httpVersion === '1.1') response.socket?.write(renderHead(status, headers))
    }),
    body,
  })
  record.answered(resultOf(fieldValue(answer.headers, 'cache-status')))
  if (wantsTags(request, options)) answer.headers.push(...tagFields(answer.tags ?? []))
  // A body that nobody reads must not be taken for the next request.
  if (hasBody(request) && !request.complete) answer.headers.push(['Connection', 'close'])
  respond(response, answer)
}

/** Answers a request that is not taken up, and closes its connection. */
function refuseRequest(request: IncomingMessage, response: ServerResponse, { status, text, headers = [] }: Refusal, record: RequestRecord | null): void {
  if (!request.complete && response.socket !== null && !response.headersSent) {
    request.resume()
    record?.refused(status)
    return refuse(response.socket, status, text, headers)
  }
  const refusal = plainAnswer(status, text)
  respond(response, { ...refusal, headers: [...refusal.headers, ...headers, ['Connection', 'close']] })
}

async function purge(request: IncomingMessage, response: ServerResponse, accepted: Accepted, purges: PurgeMethods, record: RequestRecord): Promise<void> {
  record.is('purge')
  const { remoteAddress } = request.socket
  request.resume()
  const answer = await purges.perform(headOf(request), accepted, remoteAddress)
  if (response.destroyed || response.headersSent) return
  // A body that nobody reads must not be taken for the next request.
  const close = hasBody(request) && !request.complete ? (['Connection', 'close'] as const) : []
  response.writeHead(answer.status, reasonOf(answer), [...purgeHeaders(answer).flat(), ...close])
  response.end(answer.text)
}

/** Hits on connections that are Node's already: the same look into memory as on the socket. */
function answerHot(request: IncomingMessage, response: ServerResponse, accepted: Accepted, proxy: Proxy, record: RequestRecord): boolean {
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
  record.answered('hit')
  proxy.hot.count(view, performance.now() - record.started)
  return true
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}

function visitOf(request: IncomingMessage, accepted: Accepted, options: FrontOptions, signal: AbortSignal, onInterim: Visit['onInterim']): Visit {
  const address = request.socket.remoteAddress ?? null
  const forwarded = request.headers['x-forwarded-for']
  const headers = toPairs(request.rawHeaders)
  return {
    method: request.method!,
    ...accepted,
    // What `Connection` names never reaches the shop, so that it must not be part of a key either.
    headers: withoutFields(headers, connectionFields(headers)),
    remoteAddress: address,
    forwardedFor: options.isTrusted(address ?? undefined) && typeof forwarded === 'string' ? forwarded : null,
    body: hasBody(request) ? request : null,
    signal,
    onInterim,
  }
}

/** What Node's parser refuses: the connection is told why and closed. */
function onClientError(error: NodeJS.ErrnoException, socket: Socket, pipelines: Pipelines): void {
  if (error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, text] = clientFaults[error.code ?? ''] ?? [400, 'The request is not valid HTTP.']
  pipelines.refuseBroken(socket, () => refuse(socket, status, text))
}

const clientFaults: Record<string, [status: number, text: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The header fields are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request came too slowly.'],
}
