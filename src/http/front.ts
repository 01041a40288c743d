import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { connectionFields, fieldValue, toPairs, withoutFields } from '../proxy/fields.ts'
import type { HotRequest } from '../proxy/hot.ts'
import { isScript } from '../proxy/key.ts'
import type { OwnPath } from '../proxy/own-path.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { plainAnswer } from '../proxy/refusal.ts'
import { canonicalPath } from '../proxy/target.ts'
import { VisitorLeft, type Visit } from '../proxy/visit.ts'
import { examine, largestHead, type Accepted, type Refusal, type RequestHead } from './guard.ts'
import { serveHitsFirst } from './hit-connection.ts'
import { LateBans } from './late-bans.ts'
import type { AnswerOwn } from './own.ts'
import { OpenConnections } from './open-connections.ts'
import { Pipelines } from './pipelines.ts'
import { isPurgeMethod, purgeHeaders, reasonOf, type PurgeMethods } from './purge-methods.ts'
import { tagFields } from './purge-order.ts'
import { endGently, refusalAnswer, refuse } from './refuse.ts'
import { renderHead } from './render.ts'
import { currentRequest, RequestRecord, type AccessLog } from './request-record.ts'
import { awaitsContinue, respond } from './respond.ts'
import { watchBody } from './slow-body.ts'
import type { StageEndpoints } from './stages.ts'
import { resultOf, type Traffic } from './traffic.ts'
import { mayTunnel, Tunnels } from './tunnel.ts'

export interface FrontOptions {
  proxy: Proxy
  purges: PurgeMethods
  answerOwn: AnswerOwn
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
  /** From now on the next answer on each connection is its last, and says so; tunnels end when nothing is said in them. */
  drain(): void
  /** Ends the connections on which nothing is going on, and has not been for `quiet` milliseconds. */
  closeIdle(quiet?: number): void
  connections: OpenConnections
}

/** Milliseconds: a head has to be there within ten seconds (checked each second); a reader who takes nothing is cut at the second look, within thirty. */
const headTimeout = 8500
const writeStall = 15_000
const keptAlive = 65_000

/**
 * At the end a connection is left alone for so long after it was made or answered, in milliseconds: the next request on it may be under
 * way, and to end it would reset a visitor who did nothing wrong. Browsers also make some in advance, on which nothing comes.
 */
const quiet = 500

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
    // An endpoint of the daemon itself answers as if no upgrade had been asked for.
    shouldUpgradeCallback: (request) => mayTunnel(request) && ownPathOfRequest(request, options) === null,
    // The guard looks at it: Node would refuse the request and read on behind it.
    requireHostHeader: false,
  })
  const pipelines = new Pipelines()
  const tunnels = new Tunnels()
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
  const bans = new LateBans(() => options.purges, pipelines)
  server.on('upgrade', (request, socket, head) => {
    bans.forget(socket as Socket)
    pipelines.release(socket)
    const accepted = examineRequest(request, options)
    if ('status' in accepted) return refuse(socket, accepted.status, accepted.text, accepted.headers)
    tunnels.open(request, socket as Socket, head, visitOf(request, accepted, options, new AbortController().signal, () => {}), options.proxy)
  })
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405, 'CONNECT is not allowed here.'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => bans.take(error, socket) || onClientError(error, socket, pipelines))
  const hits = serveHitsFirst(server, { front: options, handedOver: (socket) => bans.watch(socket), silence: headTimeout + 500, idle: keptAlive, stall: writeStall })
  server.on('connection', (socket: Socket) => {
    // Node closes a connection by this behind the last answer, and by a reset where the client has sent more.
    socket.destroySoon = () => endGently(socket)
  })
  const drain = () => {
    for (const part of [hits, pipelines, tunnels]) part.drain()
  }
  const closeIdle = (forSoLong = quiet) => {
    for (const part of [hits, pipelines]) part.closeIdle(forSoLong)
  }
  return { server, drain, closeIdle, connections: new OpenConnections(server) }
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
  currentRequest.run(record, () => {
    handle(request, response, options, pipelines, record).catch((error: unknown) => {
      if (error === left) return
      options.onError('a request failed', error)
      respond(response, plainAnswer(500, 'Something went wrong here.'))
    })
  })
}

function headOf(request: IncomingMessage): RequestHead {
  return { method: request.method!, target: request.url!, version: request.httpVersion, headers: toPairs(request.rawHeaders) }
}

function examineRequest(request: IncomingMessage, options: FrontOptions) {
  return examine(headOf(request), options.isTrusted(request.socket.remoteAddress))
}

/** The daemon's own endpoint that a request names; null for the shop's, and for what the guard refuses. */
function ownPathOfRequest(request: IncomingMessage, options: FrontOptions): OwnPath | null {
  const accepted = examineRequest(request, options)
  return 'status' in accepted ? null : ownPathOf(accepted, options)
}

function ownPathOf({ scheme, host, target }: Accepted, { proxy }: FrontOptions): OwnPath | null {
  return proxy.classifying.channels.ownPath(scheme, host, canonicalPath(target))
}

async function handle(request: IncomingMessage, response: ServerResponse, options: FrontOptions, pipelines: Pipelines, record: RequestRecord): Promise<void> {
  const accepted = examineRequest(request, options)
  if ('status' in accepted) {
    pipelines.refuse(request.socket)
    return refuseRequest(request, response, accepted, record)
  }
  record.accepted = accepted
  if (isPurgeMethod(request.method!)) return purge(request, response, accepted, options.purges, record)
  const own = ownPathOf(accepted, options)
  if (own !== null) {
    record.is(own.kind === 'stage' ? 'stage' : 'own')
    return options.answerOwn(own, request, response, accepted, passerOf(request, response, accepted, options, record))
  }
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

/** Hands requests of the token endpoint on to the shop that they are meant for. */
function passerOf(request: IncomingMessage, response: ServerResponse, accepted: Accepted, options: FrontOptions, record: RequestRecord): PassOn {
  return async (body, standIn) => {
    const known = options.proxy.classifying.channels.find(accepted.scheme, accepted.host, canonicalPath(accepted.target)) !== null
    if (!known && standIn === null) return false
    const visit = visitOf(request, known ? accepted : { ...accepted, ...standIn }, options, goneSignal(response), () => {})
    const answer = await options.proxy.handOn({ ...visit, body: Readable.from([body]) })
    record.answered(resultOf(fieldValue(answer.headers, 'cache-status')))
    respond(response, answer)
    return true
  }
}

/** Whether a cache in front of us asks for the tags of a page, by which it will be purged (docs/varnish.md). */
function wantsTags(request: IncomingMessage, options: FrontOptions): boolean {
  return request.headers['x-pagecache-tags'] !== undefined && options.isTrusted(request.socket.remoteAddress)
}

/** One for all: an error of its own, with a stack, for each request that ends costs more than some requests. */
const left = new VisitorLeft()

/** Through the cache or to the shop. */
async function passOn(request: IncomingMessage, response: ServerResponse, accepted: Accepted, body: Readable | null, options: FrontOptions, record: RequestRecord): Promise<void> {
  const answer = await options.proxy.answer({
    ...visitOf(request, accepted, options, goneSignal(response), (status, headers) => {
      // A response that others stand before has no socket yet: what is written past it would land in the midst of them.
      if (!response.headersSent && request.httpVersion === '1.1') response.socket?.write(renderHead(status, headers))
    }),
    body,
  })
  record.answered(resultOf(fieldValue(answer.headers, 'cache-status')))
  if (wantsTags(request, options)) answer.headers.push(...tagFields(answer.tags ?? []))
  // A body that nobody reads must not be taken for the next request.
  if (hasBody(request) && !request.complete) response.shouldKeepAlive = false
  respond(response, answer)
}

/** Aborts when the visitor is gone. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort(left))
  return gone.signal
}

/** Answers a request that is not taken up, and closes its connection. */
function refuseRequest(request: IncomingMessage, response: ServerResponse, { status, text, headers = [] }: Refusal, record: RequestRecord | null): void {
  if (!request.complete && response.socket !== null && !response.headersSent) {
    request.resume()
    record?.refused(status)
    return refuse(response.socket, status, text, headers)
  }
  response.shouldKeepAlive = false
  respond(response, refusalAnswer(status, text, headers))
}

async function purge(request: IncomingMessage, response: ServerResponse, accepted: Accepted, purges: PurgeMethods, record: RequestRecord): Promise<void> {
  record.is('purge')
  const { remoteAddress } = request.socket
  if (awaitsContinue(request)) response.writeContinue()
  request.resume()
  const answer = await purges.perform(headOf(request), accepted, remoteAddress)
  if (response.destroyed || response.headersSent) return
  // A body that nobody reads must not be taken for the next request.
  if (hasBody(request) && !request.complete) response.shouldKeepAlive = false
  response.writeHead(answer.status, reasonOf(answer), purgeHeaders(answer).flat())
  response.end(answer.text)
}

/** A request field by its lower-case name, lines combined. */
function field(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
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
    script: isScript(name => field(headers, name)),
    unkeyedCookies: null,
    field: name => field(headers, name),
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
  // It has left in the midst of a request: nobody waits for the answers to those before it.
  if (error.code === 'HPE_INVALID_EOF_STATE' && !pipelines.isIdle(socket)) {
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
