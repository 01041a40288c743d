import type { IncomingMessage } from 'node:http'
import type { H3, H3Event } from 'h3'
import { isIn, networks } from '../../lib/networks.ts'
import { textAnswer, type Answer } from '../answer.ts'
import { isForwarded } from '../forwarded.ts'
import { authenticate, scopeMissing, type CallerOptions } from './caller.ts'
import type { ApiOptions } from './options.ts'
import { addRoutes } from './route.ts'

type MetricsOptions = Pick<ApiOptions, 'metrics'> & CallerOptions

/** Adds `/metrics`, for clients on this machine and for tokens with the scope `read`. */
export function addMetrics(app: H3, options: MetricsOptions): void {
  addRoutes(app, '/metrics', { GET: (event) => answerMetrics(event, options) })
}

async function answerMetrics({ context }: H3Event, options: MetricsOptions): Promise<Answer> {
  const { exchange } = context
  if (!isLocal(exchange.request)) {
    const caller = await authenticate(exchange, options)
    if ('status' in caller) return caller
    if (!caller.scopes.includes('read')) return scopeMissing('read')
  }
  const { type, text } = await options.metrics()
  return textAnswer(200, type, text)
}

const loopback = networks(['127.0.0.0/8', '::1'])

/** Whether a client on this machine asks, itself and not through a proxy. */
function isLocal(request: IncomingMessage): boolean {
  return isIn(loopback, request.socket.remoteAddress) && !isForwarded(request)
}
