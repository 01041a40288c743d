import type { IncomingMessage, ServerResponse } from 'node:http'
import { identify, type ApiOptions } from './api.ts'
import { refusal, toErrorAnswer } from './api-answer.ts'
import { isIn, networks } from '../../lib/networks.ts'
import { sendAnswer } from './send-answer.ts'

const loopback = networks(['127.0.0.0/8', '::1'])

/** Fields by which a proxy on this machine tells that somebody else asks. */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

export interface MetricsEndpointOptions extends Pick<ApiOptions, 'judge' | 'isTrusted' | 'onError'> {
  metrics(): Promise<{ type: string; text: string }>
}

/** `/metrics`, for whoever is on this machine, and for tokens with the scope `read`. */
export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  options: MetricsEndpointOptions,
): Promise<void> {
  try {
    if (!isLocal(request)) {
      const caller = await identify(request, options)
      if ('status' in caller) return sendAnswer(request, response, caller)
      if (!caller.scopes.includes('read'))
        return sendAnswer(
          request,
          response,
          refusal(403, 'This needs the scope read.', {
            'www-authenticate': 'Bearer error="insufficient_scope", scope="read"',
          }),
        )
    }
    const { type, text } = await options.metrics()
    const body = Buffer.from(text)
    response.writeHead(200, {
      'content-type': type,
      'cache-control': 'no-store',
      'content-length': String(body.length),
    })
    response.end(body)
  } catch (error) {
    options.onError('the metrics could not be told', error)
    sendAnswer(request, response, toErrorAnswer(error))
  }
}

function isLocal({ socket, headers }: IncomingMessage): boolean {
  return isIn(loopback, socket.remoteAddress) && forwarding.every((name) => headers[name] === undefined)
}
