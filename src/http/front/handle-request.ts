import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { connectionFields, fieldValue, toPairs, withoutFields } from '../../cache/fields.ts'
import type { HotRequest } from '../../cache/hot.ts'
import { isScript } from '../../cache/key.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import { canonicalPath } from '../../cache/target.ts'
import { VisitorLeft, type Visit } from '../../cache/visit.ts'
import type { FrontOptions, PassOn } from './front-options.ts'
import { examine, type Accepted, type Refusal, type RequestHead } from './guard.ts'
import type { Pipelines } from './pipelines.ts'
import { isPurgeMethod, purgeHeaders, reasonOf, type PurgeMethods } from '../purge/methods.ts'
import { tagFields } from '../purge/order.ts'
import { refusalAnswer, refuse } from './refuse.ts'
import { renderHead } from './render.ts'
import type { RequestRecord } from './request-record.ts'
import { awaitsContinue, respond } from './respond.ts'
import { watchBody } from './slow-body.ts'
import { resultOf } from './traffic.ts'

function headOf(request: IncomingMessage): RequestHead {
  return {
    method: request.method!,
    target: request.url!,
    version: request.httpVersion,
    headers: toPairs(request.rawHeaders),
  }
}

export function examineRequest(request: IncomingMessage, options: FrontOptions) {
  return examine(headOf(request), options.isTrusted(request.socket.remoteAddress))
}

/** The daemon's own endpoint that a request names; null for the shop's, and for what the guard refuses. */
export function ownPathOfRequest(request: IncomingMessage, options: FrontOptions): OwnPath | null {
  const accepted = examineRequest(request, options)
  return 'status' in accepted ? null : ownPathOf(accepted, options)
}

function ownPathOf({ scheme, host, target }: Accepted, { cache }: FrontOptions): OwnPath | null {
  return cache.classifying.channels.ownPath(scheme, host, canonicalPath(target))
}

export async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  options: FrontOptions,
  pipelines: Pipelines,
  record: RequestRecord,
): Promise<void> {
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
  if (
    request.method === 'GET' &&
    !wantsTags(request, options) &&
    answerHot(request, response, accepted, options.cache, record)
  )
    return
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
function passerOf(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  options: FrontOptions,
  record: RequestRecord,
): PassOn {
  return async (body, standIn) => {
    const known =
      options.cache.classifying.channels.find(accepted.scheme, accepted.host, canonicalPath(accepted.target)) !== null
    if (!known && standIn === null) return false
    const visit = visitOf(
      request,
      known ? accepted : { ...accepted, ...standIn },
      options,
      goneSignal(response),
      () => {},
    )
    const answer = await options.cache.passLogin({ ...visit, body: Readable.from([body]) })
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
export const left = new VisitorLeft()

/** Through the cache or to the shop. */
async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  body: Readable | null,
  options: FrontOptions,
  record: RequestRecord,
): Promise<void> {
  const answer = await options.cache.answer({
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
export function refuseRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { status, text, headers = [] }: Refusal,
  record: RequestRecord | null,
): void {
  if (!request.complete && response.socket !== null && !response.headersSent) {
    request.resume()
    record?.refused(status)
    return refuse(response.socket, status, text, headers)
  }
  response.shouldKeepAlive = false
  respond(response, refusalAnswer(status, text, headers))
}

async function purge(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  purges: PurgeMethods,
  record: RequestRecord,
): Promise<void> {
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
function answerHot(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  cache: StorefrontCache,
  record: RequestRecord,
): boolean {
  const { headers } = request
  if (
    hasBody(request) ||
    headers.range !== undefined ||
    headers.authorization !== undefined ||
    headers['if-modified-since'] !== undefined
  )
    return false
  if (headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined) return false
  const asked: HotRequest = {
    ...accepted,
    cookie: headers.cookie ?? null,
    acceptEncoding: headers['accept-encoding'] ?? null,
    ifNoneMatch: headers['if-none-match'] ?? null,
    script: isScript((name) => field(headers, name)),
    unkeyedCookies: null,
    field: (name) => field(headers, name),
  }
  const view = cache.hot.find(asked)
  if (view === null) return false
  respond(response, view)
  record.answered('hit')
  cache.hot.count(view, performance.now() - record.started)
  return true
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}

export function visitOf(
  request: IncomingMessage,
  accepted: Accepted,
  options: FrontOptions,
  signal: AbortSignal,
  onInterim: Visit['onInterim'],
): Visit {
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
