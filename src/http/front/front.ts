import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { plainAnswer } from '../../cache/refusal.ts'
import type { FrontOptions } from './front-options.ts'
import { largestHead } from './guard.ts'
import { examineRequest, handle, left, ownPathOfRequest, refuseRequest, visitOf } from './handle-request.ts'
import { serveHitsFirst } from './hit-connection.ts'
import { LateBans } from '../purge/late-bans.ts'
import { OpenConnections } from './open-connections.ts'
import { Pipelines } from './pipelines.ts'
import { endGently, refuse } from './refuse.ts'
import { currentRequest, RequestRecord } from './request-record.ts'
import { respond } from './respond.ts'
import { mayTunnel, Tunnels } from './tunnel.ts'

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
  const onRequest = (request: IncomingMessage, response: ServerResponse) =>
    takeUp(request, response, options, pipelines)
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
    tunnels.open(
      request,
      socket as Socket,
      head,
      visitOf(request, accepted, options, new AbortController().signal, () => {}),
      options.proxy,
    )
  })
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405, 'CONNECT is not allowed here.'))
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException, socket: Socket) =>
      bans.take(error, socket) || onClientError(error, socket, pipelines),
  )
  const hits = serveHitsFirst(server, {
    front: options,
    handedOver: (socket) => bans.watch(socket),
    silence: headTimeout + 500,
    idle: keptAlive,
    stall: writeStall,
  })
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
  const begin = () => {
    handle(request, response, options, pipelines, record).catch((error: unknown) => {
      if (error === left) return
      options.onError('a request failed', error)
      respond(response, plainAnswer(500, 'Something went wrong here.'))
    })
  }
  pipelines.inTurn(request.socket, response, () => currentRequest.run(record, begin))
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
