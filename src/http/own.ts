import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import { H3 } from 'h3'
import { fromNodeHandler, toNodeHandler } from 'h3/node'
import type { Authority } from '../auth/authority.ts'
import type { Judge } from '../auth/judgement.ts'
import type { Channel } from '../proxy/channel.ts'
import type { PassOn } from './front.ts'
import { operations } from '../operations/index.ts'
import { answerApi, type ApiOptions } from './api.ts'
import { endpointsOf, routerOf, type Found } from './api-endpoints.ts'
import { announcesTooMuch, tooLarge } from './api-body.ts'
import { refusal, toErrorAnswer } from './api-answer.ts'
import { answerMetrics } from './metrics-endpoint.ts'
import { openapiPage, openapiText } from './openapi-page.ts'
import { answerToken } from './oauth.ts'
import { awaitsContinue } from './respond.ts'
import { sendAnswer } from './send-answer.ts'
import { SharedAnswers } from './shared-answers.ts'

/** Paths of the daemon itself; all others are the shops'. */
const tokenPath = '/api/oauth/token'
const ownPaths = new Set(['/healthz', '/readyz', '/api/_info/health-check', '/api/_info/openapi.json', '/api/_info/docs', '/metrics', tokenPath])
const apiPrefixes = ['/api/_action/vendor-cache', '/api/_action/vendor-stage']

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
  onError(message: string, error: unknown): void
  onPerformed(operation: string, actor: string): void
}

/**
 * The daemon's own endpoints; returns false for what is a visitor's. What is asked often, the operations, goes a short way of its own,
 * everything else through h3 (docs/decisions/0029-endpoints-without-a-framework.md).
 */
export function ownEndpoints(options: OwnOptions): (request: IncomingMessage, response: ServerResponse, pass: PassOn) => boolean {
  const route = routerOf(endpointsOf(operations))
  const judge = options.app.config.auth.mode === 'shop' ? options.shopJudge : options.authority
  const handle = toNodeHandler(ownApp(options, judge))
  const api: ApiOptions = { ...options, judge, shared: new SharedAnswers() }
  return (request, response, pass) => {
    const path = request.url!.split('?', 1)[0]!
    const isApi = apiPrefixes.some((prefix) => path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/'))
    if (!isApi && !ownPaths.has(path)) return false
    // Before anything of it is read.
    if (announcesTooMuch(request)) {
      sendAnswer(request, response, tooLarge)
      return true
    }
    if (awaitsContinue(request)) response.writeContinue()
    if (isApi) void serve(request, response, route(path), api)
    else if (path === tokenPath) void handToken(request, response, pass, options)
    else if (request.method !== 'GET' && request.method !== 'HEAD') sendAnswer(request, response, refusal(405, `${request.method} is not allowed here.`, { allow: 'GET, HEAD' }))
    else void handle(request, response)
    return true
  }
}

async function serve(request: IncomingMessage, response: ServerResponse, found: Found | null, api: ApiOptions): Promise<void> {
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
  app.all('/api/_info/health-check', () => new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } }))
  app.all('/readyz', async () => {
    if (!options.isReady()) return json(503, { status: 'stopping' })
    return (await options.app.recordsFault()) === null ? json(200, { status: 'ready' }) : json(503, { status: 'records lost', message: 'The records were deleted or replaced while the daemon runs.' })
  })
  app.all('/api/_info/openapi.json', async () => new Response(await openapiText(), { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } }))
  app.all('/api/_info/docs', () => openapiPage())
  app.all('/metrics', fromNodeHandler((request, response) => answerMetrics(request as IncomingMessage, response as ServerResponse, { ...options, judge })))
  // h3's own answer would repeat the URL.
  app.all('/**', fromNodeHandler((request, response) => sendAnswer(request as IncomingMessage, response as ServerResponse, refusal(404, 'There is no such endpoint.'))))
  return app
}

async function handToken(request: IncomingMessage, response: ServerResponse, pass: PassOn, options: OwnOptions): Promise<void> {
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
