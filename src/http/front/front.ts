import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { plainAnswer } from '../../cache/refusal.ts'
import { visitorLeft } from '../../cache/visit.ts'
import { LateBans } from '../purge/late-bans.ts'
import { send } from '../send.ts'
import type { FrontOptions } from './front-options.ts'
import { largestHead } from './guard.ts'
import { examineRequest, handle, ownPathOfRequest, refuseRequest, visitOf } from './handle-request.ts'
import { serveHitsFirst } from './hit-connection.ts'
import { OpenConnections } from './open-connections.ts'
import { Pipelines } from './pipelines.ts'
import { expectProxyHeaders, type Rejections } from './proxied.ts'
import { endGently, refuse } from './refuse.ts'
import { currentRequest, RequestRecord } from './request-record.ts'
import { mayTunnel, Tunnels } from './tunnel.ts'

export interface Front {
  server: Server
  /** Makes the next answer on each connection its last, with `Connection: close`; tunnels end when they fall silent. */
  drain(): void
  /** Ends the connections that have been idle for `quiet` milliseconds. */
  closeIdle(quiet?: number): void
  connections: OpenConnections
}

/** Milliseconds. Node checks each second, so a head must arrive within ten seconds. */
const headTimeout = 8500
/** Milliseconds. A client that does not read its answer is cut at the second check, so within thirty seconds. */
const writeStall = 15_000
/** Milliseconds that a connection stays open between two requests. */
const keepAlive = 65_000

/**
 * Milliseconds that a new or just answered connection stays open during shutdown. The next request may already be on its way, and closing
 * would reset a blameless visitor. Browsers also open some connections in advance and never use them.
 */
const shutdownQuiet = 500

/**
 * Creates the server in front of the shop: hits are answered from the socket, everything else goes through Node's HTTP server and the
 * cache. Each request reads `options` anew, because a reload replaces their values.
 *
 * @param rejections counts connections without a PROXY header; null: connections have none
 */
export function createFront(options: FrontOptions, rejections: Rejections | null = null): Front {
  const server = createHttpServer(options)
  const pipelines = new Pipelines()
  const tunnels = new Tunnels()
  const bans = new LateBans(() => options.purges, pipelines)
  server.on('timeout', (socket: Socket) => {
    // Visitors may wait for the shop as long as they like; those who do not read, or send nothing more, may not.
    if (socket.writableLength > 0 || pipelines.isIdle(socket)) socket.destroy()
  })
  listenForRequests(server, options, pipelines)
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException, socket: Socket) =>
      bans.take(error, socket) || onClientError(error, socket, pipelines),
  )
  const hits = serveHitsFirst(server, {
    front: options,
    parsed: (socket, chunk) => bans.keep(socket, chunk),
    pipelines,
    silence: headTimeout + 500,
    idle: keepAlive,
    stall: writeStall,
  })
  listenForUpgrades(server, options, tunnels, (socket, answer) => {
    hits.release(socket)
    const answerAndForget = () => {
      pipelines.release(socket)
      answer()
    }
    if (pipelines.isIdle(socket)) answerAndForget()
    else pipelines.refuseBroken(socket, answerAndForget)
  })
  server.on('connection', (socket: Socket) => {
    // Node calls this after the last answer, and the connection would be reset if the client has sent more.
    socket.destroySoon = () => endGently(socket)
  })
  if (rejections !== null) expectProxyHeaders(server, options, (why) => rejections.note(why))
  const drain = () => {
    for (const part of [hits, pipelines, tunnels]) part.drain()
  }
  const closeIdle = (quiet = shutdownQuiet) => {
    for (const part of [hits, pipelines]) part.closeIdle(quiet)
  }
  return { server, drain, closeIdle, connections: new OpenConnections(server) }
}

function createHttpServer(options: FrontOptions): Server {
  const server = createServer({
    maxHeaderSize: largestHead + 8192,
    headersTimeout: headTimeout,
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: keepAlive,
    insecureHTTPParser: false,
    noDelay: true,
    // The daemon's own endpoints ignore an Upgrade.
    shouldUpgradeCallback: (request) => mayTunnel(request) && ownPathOfRequest(request, options) === null,
    // The guard checks it: Node would refuse the request and keep reading the connection.
    requireHostHeader: false,
  })
  // Zero lifts Node's own limit, which drops fields silently; the guard refuses a request with too many.
  server.maxHeadersCount = 0
  server.timeout = writeStall
  return server
}

function listenForRequests(server: Server, options: FrontOptions, pipelines: Pipelines): void {
  const onRequest = (request: IncomingMessage, response: ServerResponse) =>
    startRequest(request, response, options, pipelines)
  server.on('request', onRequest)
  // Without a listener Node sends 100 (Continue) before the head was checked.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', (request, response) => {
    if (!pipelines.enter(request, response)) return
    pipelines.refuse(request.socket)
    refuseRequest(response, { status: 417, text: 'This expectation is not supported.' })
  })
}

function listenForUpgrades(
  server: Server,
  options: FrontOptions,
  tunnels: Tunnels,
  /** Takes the connection from Node's server and calls back once the requests before are answered. */
  inTurn: (socket: Socket, answer: () => void) => void,
): void {
  server.on('upgrade', (request, socket: Socket, head) => {
    inTurn(socket, () => {
      const accepted = examineRequest(request, options)
      if ('status' in accepted) return refuse(socket, accepted.status, accepted.text, accepted.headers)
      const visit = visitOf(request, accepted, options, new AbortController().signal, () => {})
      tunnels.open(request, socket, head, visit, options.cache)
    })
  })
  server.on('connect', (_request, socket: Socket) => {
    inTurn(socket, () => refuse(socket, 405, 'CONNECT is not allowed.'))
  })
}

/** Answers a request in its turn and records it. */
function startRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: FrontOptions,
  pipelines: Pipelines,
): void {
  if (!pipelines.enter(request, response)) return
  const record = new RequestRecord(options)
  const end = options.begin()
  response.once('close', () => {
    end()
    record.end(request.method!, response.headersSent ? response.statusCode : 0)
  })
  const begin = () => {
    handle(request, response, options, pipelines, record).catch((error: unknown) => {
      if (error === visitorLeft) return
      options.onError('Could not answer a request', error)
      send(response, plainAnswer(500, 'Internal error.'))
    })
  }
  pipelines.inTurn(request.socket, response, () => currentRequest.run(record, begin))
}

/** Tells the client why Node's parser rejected its request, and closes the connection. */
function onClientError(error: NodeJS.ErrnoException, socket: Socket, pipelines: Pipelines): void {
  // The client left in the middle of a request and no longer waits for the answers before it.
  const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && !pipelines.isIdle(socket)
  if (error.code === 'ECONNRESET' || hasLeft) {
    socket.destroy()
    return
  }
  const [status, text] = parserErrors[error.code ?? ''] ?? [400, 'The request is not valid HTTP.']
  pipelines.refuseBroken(socket, () => refuse(socket, status, text))
}

const parserErrors: Record<string, [status: number, text: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The header fields are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request came too slowly.'],
}
