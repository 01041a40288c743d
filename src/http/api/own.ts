import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'
import { H3 } from 'h3'
import { fromNodeHandler, toNodeHandler } from 'h3/node'
import type { Authority } from '../../auth/authority.ts'
import type { Judge } from '../../auth/judgement.ts'
import type { Channel } from '../../cache/channel.ts'
import type { AnswerOwn, PassOn } from '../front/front-options.ts'
import type { StageEndpoints } from '../stages/endpoints.ts'
import { operations } from '../../operations/index.ts'
import { answerApi, type ApiOptions } from './api.ts'
import { endpointsOf, routerOf, type Found } from './endpoints.ts'
import { announcesTooMuch, tooLarge } from './body.ts'
import { refusal, toErrorAnswer, type ApiAnswer } from './api-answer.ts'
import { serveAdmin } from '../admin/page.ts'
import { answerMetrics } from './metrics-endpoint.ts'
import { openapiPage, openapiText } from './openapi-page.ts'
import { answerToken } from './oauth.ts'
import { awaitsContinue, isReading } from '../front/respond.ts'
import { sendAnswer } from './send-answer.ts'
import { SharedAnswers } from './shared-answers.ts'

export interface OwnOptions {
  app: App
  /** Whether requests are still taken; false once the daemon is stopping. */
  isReady(): boolean
  metrics(): Promise<{ type: string; text: string }>
  isTrusted(address: string | undefined): boolean
  /** Issues and judges tokens where the daemon does (`auth.mode: builtin`). */
  authority(): Promise<Authority>
  /** Judges tokens where the shop issues them (`auth.mode: shop`). */
  shopJudge(): Promise<Judge>
  /** The site whose shop issues the tokens where a Host names none; null without one. */
  shop: Pick<Channel, 'scheme' | 'host'> | null
  /** Whether a Host is a name of this daemon or of a channel. */
  isKnownHost(host: string): boolean
  stages: StageEndpoints
  onError(message: string, error: unknown): void
  onPerformed(operation: string, actor: string): void
}

/**
 * The daemon's own endpoints. What is asked often, the operations and the events of popup stages, goes a short way of its own, everything
 * else through h3 (docs/decisions/0029-endpoints-without-a-framework.md).
 */
export function ownEndpoints(options: OwnOptions): AnswerOwn {
  const route = routerOf(endpointsOf(operations))
  const judge = options.app.config.auth.mode === 'shop' ? options.shopJudge : options.authority
  const handle = toNodeHandler(ownApp(options, judge))
  const api: ApiOptions = { ...options, judge, shared: new SharedAnswers() }
  return (place, request, response, accepted, pass) => {
    // A stage is a channel's, so that its Host is one.
    if (place.kind === 'stage') return options.stages.serve(request, response, accepted, place)
    request.url = place.path + queryText(accepted.target)
    if (place.kind !== 'health' && !options.isKnownHost(accepted.host))
      return sendAnswer(request, response, misdirected(accepted.host))
    // Before anything of it is read.
    if (announcesTooMuch(request)) return sendAnswer(request, response, tooLarge)
    if (awaitsContinue(request)) response.writeContinue()
    if (place.kind === 'admin') serveAdmin(place.path, request, response, options.onError)
    else if (place.kind === 'operation') void serve(request, response, route(place.path), api)
    else if (place.kind === 'token') void handToken(request, response, pass, options)
    else if (!isReading(request))
      sendAnswer(request, response, refusal(405, `${request.method} is not allowed here.`, { allow: 'GET, HEAD' }))
    else void handle(request, response)
  }
}

/** A Host that is no name of ours: a page that an attacker has pointed at this address, or a name that `server.names` lacks. */
function misdirected(host: string): ApiAnswer {
  return refusal(
    421,
    `${host} is no name of this daemon. Add it to server.names if clients should reach the daemon by it.`,
  )
}

/** The query of a target as it was sent, with its question mark. */
function queryText(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark)
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  found: Found | null,
  api: ApiOptions,
): Promise<void> {
  try {
    sendAnswer(request, response, await answerApi(request, found, api))
  } catch (error) {
    // An answer that cannot be written down: no request may end the daemon.
    api.onError('an answer could not be given', error)
    sendAnswer(request, response, toErrorAnswer(error))
  }
}

function ownApp(options: OwnOptions, judge: ApiOptions['judge']): H3 {
  const app = new H3()
  // All methods: those that do not fit were refused before, and `get` would not take HEAD.
  app.all('/healthz', () => json(200, { status: 'ok' }))
  app.all(
    '/api/_info/health-check',
    () => new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } }),
  )
  app.all('/readyz', async () => {
    if (!options.isReady()) return json(503, { status: 'stopping' })
    return (await options.app.recordsFault()) === null
      ? json(200, { status: 'ready' })
      : json(503, { status: 'records lost', message: 'The records were deleted or replaced while the daemon runs.' })
  })
  app.all(
    '/api/_info/openapi.json',
    async () =>
      new Response(await openapiText(), {
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      }),
  )
  app.all('/api/_info/docs', () => openapiPage())
  app.all(
    '/metrics',
    fromNodeHandler((request, response) =>
      answerMetrics(request as IncomingMessage, response as ServerResponse, { ...options, judge }),
    ),
  )
  // h3's own answer would repeat the URL.
  app.all(
    '/**',
    fromNodeHandler((request, response) =>
      sendAnswer(request as IncomingMessage, response as ServerResponse, refusal(404, 'There is no such endpoint.')),
    ),
  )
  return app
}

async function handToken(
  request: IncomingMessage,
  response: ServerResponse,
  pass: PassOn,
  options: OwnOptions,
): Promise<void> {
  const { app, shop, onError } = options
  const isShops = app.config.auth.mode === 'shop'
  try {
    const answer = await answerToken(request, { ...options, authority: isShops ? null : options.authority })
    if ('status' in answer) return sendAnswer(request, response, answer)
    if (!(await pass(answer.body, isShops ? shop : null))) sendAnswer(request, response, answer.otherwise)
  } catch (error) {
    onError('a token could not be issued', error)
    sendAnswer(request, response, toErrorAnswer(error))
  }
}

function json(status: number, value: unknown): Response {
  return Response.json(value, { status, headers: { 'cache-control': 'no-store' } })
}
