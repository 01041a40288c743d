import { H3, type H3Event } from 'h3'
import { operations } from '../../operations/index.ts'
import type { Operation } from '../../operations/operation.ts'
import { noChannel } from '../../cache/refusal.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { addAdmin } from '../admin/page.ts'
import { addSession, type SessionOptions } from '../admin/session.ts'
import { ShopSessions } from '../../auth/sessions.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import { announcesMoreThan, toBodyAnswer } from '../body.ts'
import type { AnswerOwn } from '../front/front-options.ts'
import { currentRequest } from '../front/request-record.ts'
import { addStages } from '../stages/routes.ts'
import { isInternal, toErrorAnswer } from './error-answer.ts'
import { addHealth } from './health.ts'
import { largestBody } from './input.ts'
import { addMetrics } from './metrics-endpoint.ts'
import { addTokenEndpoint, refuseToken } from './oauth.ts'
import { addOpenapi } from './openapi-page.ts'
import { addOperations, refuseEarly } from './operations.ts'
import type { ApiOptions } from './options.ts'
import { notFound, toEvent, type Exchange } from './route.ts'

/** Every endpoint of the daemon as one h3 app (docs/decisions/0061-every-endpoint-is-h3.md). */
export function createApi(options: ApiOptions, published: readonly Operation[] = operations): AnswerOwn {
  const callers = { ...options, ...authorities(options) }
  const app = new H3()
  app.use((event) => prepare(event, options))
  addHealth(app, options)
  addOperations(app, published, callers)
  addTokenEndpoint(app, options)
  addOpenapi(app)
  addMetrics(app, callers)
  addAdmin(
    app,
    options.app.config.salesChannels.map(({ url }) => new URL(url).origin),
  )
  addSession(app, callers, (exchange) => refuseEarly(exchange, options))
  addStages(app, options.stages)
  app.all('/**', notFound)
  return (place, request, accepted, reply) => {
    const mark = accepted.target.indexOf('?')
    const search = mark < 0 ? '' : accepted.target.slice(mark)
    request.url = place.path + search
    const query = mark < 0 ? null : new URLSearchParams(search)
    void answer(app, { request, reply, accepted, place, query }, options.onError)
  }
}

/** Who judges tokens, and where the admin page's logins are: with the shop, or here. */
function authorities({ app, authority, shopJudge }: ApiOptions): Pick<SessionOptions, 'judge' | 'sessions'> {
  return app.config.auth.mode === 'shop'
    ? { judge: shopJudge, sessions: async () => new ShopSessions(await shopJudge()) }
    : { judge: authority, sessions: async () => (await authority()).sessions }
}

/** Middleware: refuses a foreign Host and a body that is too large, then lets a waiting client send its body. */
function prepare({ context }: H3Event, { isKnownHost }: ApiOptions): Answer | undefined {
  const { request, reply, accepted, place } = context.exchange
  if (place.kind === 'stray-stage') return errorAnswer(421, noChannel(accepted))
  // A stage endpoint belongs to a channel, so its Host is known; it has a smaller limit of its own.
  if (place.kind !== 'stage') {
    if (place.kind !== 'health' && !isKnownHost(accepted.host)) return misdirected(accepted.host, refuserOf(place))
    if (announcesMoreThan(request, largestBody)) return toBodyAnswer('too-large', refuserOf(place))
  }
  reply.invite()
  return undefined
}

/** The form of errors at an endpoint: OAuth's, or the API's. */
function refuserOf({ kind }: OwnPath): typeof errorAnswer {
  return kind === 'token' ? refuseToken : errorAnswer
}

/** 421 for a Host that is no name of the daemon: an attacker has pointed a name at its address, or `server.names` lacks one. */
function misdirected(host: string, refuse: typeof errorAnswer): Answer {
  return refuse(421, `${host} is not a name of this daemon. Add it to server.names if clients reach the daemon by it.`)
}

async function answer(app: H3, exchange: Exchange, onError: ApiOptions['onError']): Promise<void> {
  const { request, reply, place } = exchange
  try {
    const result = (await app.handler(toEvent(app, exchange))) as Answer | null
    if (result !== null) reply.send(result, requestId(exchange))
  } catch (error) {
    if (isInternal(error)) onError(`${request.method} ${place.path} failed`, error)
    reply.send(toErrorAnswer(error, refuserOf(place)), requestId(exchange))
  }
}

/**
 * `X-Request-Id`, by which the log can be searched for the request. It is never what the client has sent: a client could
 * repeat the id of another request. Pages for browsers go without.
 */
function requestId({ place }: Exchange): HeaderPair[] {
  const record = currentRequest.getStore()
  return record === undefined || place.kind === 'admin' || place.kind === 'stage' ? [] : [['X-Request-Id', record.id]]
}
