import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { connectionFields, fieldValue, toPairs, withoutFields } from '../../cache/fields.ts'
import { presentationOf } from '../../cache/form.ts'
import type { HotRequest } from '../../cache/hot.ts'
import { isScript } from '../../cache/key.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import { canonicalPath } from '../../cache/target.ts'
import { visitorLeft, type Visit } from '../../cache/visit.ts'
import { copyOf } from '../../lib/buffers.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { countedBody } from './counted-body.ts'
import { asVisitor, findDebugger, wantsDebug, withDebug, type Debugger } from './debug.ts'
import { refuserFor } from './error-page.ts'
import type { FrontOptions, PassOn, Reply } from './front-options.ts'
import { allowedMethods, examine, type Accepted, type Refusal, type RequestHead } from './guard.ts'
import { errorAnswer } from '../answer.ts'
import { awaitsContinue, hasBody } from '../body.ts'
import { semanticFields } from './hot-fields.ts'
import { sendInterim } from './interim.ts'
import type { Pipelines } from './pipelines.ts'
import { isPurgeMethod, type PurgeMethods } from '../purge/methods.ts'
import { tagFields } from '../purge/order.ts'
import { send } from '../send.ts'
import { schemeOf } from './proxied.ts'
import type { RequestRecord } from './request-record.ts'
import { watchBody } from './slow-body.ts'

function headOf(request: IncomingMessage): RequestHead {
  return {
    method: request.method!,
    target: request.url!,
    version: request.httpVersion,
    headers: toPairs(request.rawHeaders),
  }
}

/** Checks the head of a request (see `examine`). */
export function examineRequest(request: IncomingMessage, options: FrontOptions) {
  return examine(headOf(request), options.isTrusted(request.socket.remoteAddress), schemeOf(request.socket))
}

/** The daemon's own endpoint that a request names; null for the shop's URLs and for requests that the guard rejects. */
export function ownPathOfRequest(request: IncomingMessage, options: FrontOptions): OwnPath | null {
  const accepted = examineRequest(request, options)
  return 'status' in accepted ? null : ownPathOf(accepted, options)
}

export function ownPathOf({ scheme, host, target }: Accepted, { cache }: Pick<FrontOptions, 'cache'>): OwnPath | null {
  return cache.classifying.channels.ownPath(scheme, host, canonicalPath(target))
}

/**
 * Answers a request by the first that applies: the guard, purge methods, the daemon's own endpoints, OPTIONS that no shop may get, memory, the
 * cache or the shop.
 *
 * @throws `visitorLeft` when the visitor disconnects first
 */
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
    return refuseRequest(response, accepted)
  }
  record.accepted = accepted
  if (isPurgeMethod(request.method!)) return purge(request, response, accepted, options.purges, record)
  const own = ownPathOf(accepted, options)
  if (own !== null) {
    record.setResult(own.kind === 'stage' ? 'stage' : 'own')
    return options.answerOwn(own, request, accepted, replyOf(request, response, accepted, options, record))
  }
  if (isLastHop(request, accepted)) {
    record.setResult('own')
    return send(response, { status: 204, headers: [['Allow', allowedMethods]], body: null })
  }
  const asker = wantsDebug(request) ? await findDebugger(request, accepted, options) : null
  if (asker === null && !wantsTags(request, options) && answerHot(request, response, accepted, options, record)) return
  if (hasBody(request)) {
    if (awaitsContinue(request)) response.writeContinue()
    const { socket } = request
    watchBody(request, () => {
      // The exchange with the shop ends with the connection. Ending it here would cut off this answer.
      pipelines.refuse(socket)
      refuseRequest(response, { status: 408, text: 'The request body arrived too slowly.' })
    })
  }
  await answerFromCache(request, response, accepted, asker, options, record)
}

/** Whether an OPTIONS request asks about the daemon itself (RFC 9110 §9.3.7), or must not be forwarded (§7.6.2). */
function isLastHop({ method, headers }: IncomingMessage, { target }: Accepted): boolean {
  return method === 'OPTIONS' && (target === '*' || /^0+$/.test(String(headers['max-forwards'])))
}

function replyOf(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  options: FrontOptions,
  record: RequestRecord,
): Reply {
  return {
    send: (answer, extra) => send(response, answer, extra),
    invite: () => awaitsContinue(request) && response.writeContinue(),
    pass: forwarderOf(request, response, accepted, options, record),
  }
}

/** Forwards requests for the token endpoint to their shop. */
function forwarderOf(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  options: FrontOptions,
  record: RequestRecord,
): PassOn {
  return async (body, fallbackSite, refuse) => {
    const known =
      options.cache.classifying.channels.find(accepted.scheme, accepted.host, canonicalPath(accepted.target)) !== null
    if (!known && fallbackSite === null) return false
    const visit = visitOf(
      request,
      known ? accepted : { ...accepted, ...fallbackSite },
      options,
      goneSignal(response),
      () => {},
    )
    const answer = await options.cache.passLogin({ ...visit, body: Readable.from([body]) }, refuse)
    record.beginAnswer(answer.headers)
    send(response, { ...answer, body: countedBody(answer.body, record) })
    return true
  }
}

/** Whether a cache in front of the daemon asks for a page's tags, to be purged by them (docs/varnish.md). */
function wantsTags(request: IncomingMessage, options: FrontOptions): boolean {
  return request.headers['x-pagecache-tags'] !== undefined && options.isTrusted(request.socket.remoteAddress)
}

/** Answers a request through the cache or from the shop. */
async function answerFromCache(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  asker: Debugger | null,
  options: FrontOptions,
  record: RequestRecord,
): Promise<void> {
  const refuse = refuserFor(
    options.errorPage,
    (name) => field(request.headers, name),
    () => record.id,
  )
  const sent = visitOf(request, accepted, options, goneSignal(response), (status, headers) => {
    // A pipelined response has no socket until its turn. Writing to the connection directly would corrupt the answers before it.
    if (response.socket !== null && !response.headersSent && request.httpVersion === '1.1')
      sendInterim(response.socket, status, headers)
  })
  const isPurged = wantsTags(request, options)
  const visit = { ...(asker === null ? sent : asVisitor(sent, asker)), isPurged }
  let answer = await options.cache.answer(visit, refuse)
  record.beginAnswer(answer.headers, answer.type)
  if (isPurged) answer.headers.push(...tagFields(answer.tags ?? []))
  if (asker !== null) answer = await withDebug(answer, visit, options.debugging)
  send(response, { ...answer, body: countedBody(answer.body, record) })
}

/** Aborts when the visitor disconnects, or has done so. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.closed) gone.abort(visitorLeft)
  response.once('close', () => gone.abort(visitorLeft))
  return gone.signal
}

/** Rejects a request and closes its connection. */
export function refuseRequest(response: ServerResponse, { status, text, headers = [] }: Refusal): void {
  response.shouldKeepAlive = false
  send(response, errorAnswer(status, text, headers))
}

async function purge(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  purges: PurgeMethods,
  record: RequestRecord,
): Promise<void> {
  record.setResult('purge')
  const { remoteAddress } = request.socket
  if (awaitsContinue(request)) response.writeContinue()
  request.resume()
  send(response, await purges.perform(headOf(request), accepted, remoteAddress))
}

/** Returns a request field by its lower-case name, with its lines combined. */
function field(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
}

/** Whether `Connection` names further fields, which then have no meaning for the page (see `visitOf`). */
function namesFields({ connection }: IncomingHttpHeaders): boolean {
  return connection !== undefined && !/^(?:keep-alive|close)$/i.test(connection)
}

/** Answers a hit on a connection that Node's server has taken over, with the same lookup in memory as on the socket. */
function answerHot(
  request: IncomingMessage,
  response: ServerResponse,
  accepted: Accepted,
  { cache, isTrusted }: FrontOptions,
  record: RequestRecord,
): boolean {
  const { headers, method } = request
  if (method !== 'GET' && method !== 'HEAD') return false
  if (hasBody(request) || namesFields(headers) || semanticFields.some((name) => headers[name] !== undefined))
    return false
  let pairs: HeaderPair[] | null = null
  // Of some fields, Node keeps only the first of several lines.
  const whole = (name: string) =>
    headers[name] === undefined ? null : fieldValue((pairs ??= toPairs(request.rawHeaders)), name)
  const hotRequest: HotRequest = {
    ...accepted,
    ...presentationOf(method, (name) => field(headers, name)),
    method,
    ifModifiedSince: whole('if-modified-since'),
    cookie: headers.cookie ?? null,
    script: isScript((name) => field(headers, name)),
    fromProxy: isTrusted(request.socket.remoteAddress),
    unkeyedCookies: null,
    field: whole,
  }
  const view = cache.hot.find(hotRequest)
  if (view === null) return false
  // Node's server may send it later.
  send(response, view.fromDisk && view.body !== null ? { ...view, body: copyOf(view.body) } : view)
  record.bytes = view.body?.length ?? 0
  record.beginAnswer(view.headers, view.entry?.page.type)
  cache.hot.count(view, performance.now() - record.started)
  return true
}

/** The request as the cache sees it. */
export function visitOf(
  request: IncomingMessage,
  accepted: Accepted,
  options: FrontOptions,
  signal: AbortSignal,
  onInterim: Visit['onInterim'],
): Visit {
  const address = request.socket.remoteAddress ?? null
  const isTrusted = options.isTrusted(address ?? undefined)
  const forwarded = request.headers['x-forwarded-for']
  const headers = toPairs(request.rawHeaders)
  return {
    method: request.method!,
    ...accepted,
    // Fields that `Connection` names never reach the shop, so they must not be part of a key either.
    headers: withoutFields(headers, connectionFields(headers)),
    remoteAddress: address,
    forwardedFor: isTrusted && typeof forwarded === 'string' ? forwarded : null,
    isTrusted,
    body: hasBody(request) ? request : null,
    signal,
    onInterim,
  }
}
