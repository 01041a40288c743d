import type { Channel } from './channel.ts'
import { proxyName } from './forward.ts'
import { OriginError, type OriginClient } from './origin.ts'
import { discard } from './body.ts'

/** What Shopware's admin API answers to anyone whom it has given a token, without a privilege and without a side effect. */
const question = '/api/_info/version'

/**
 * Whether a shop's admin API accepts a bearer token.
 *
 * @throws OriginError where the shop does not answer, or not to this question
 */
export async function acceptsToken(
  origin: OriginClient,
  channel: Channel,
  token: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { status, body } = await origin.send({
    origin: channel.origin,
    method: 'GET',
    target: question,
    headers: [
      ['host', channel.host],
      ['x-forwarded-proto', channel.scheme],
      ['x-forwarded-host', channel.host],
      ['authorization', `Bearer ${token}`],
      ['accept', 'application/json'],
      ['via', `1.1 ${proxyName}`],
    ],
    body: null,
    signal,
    onInterim: () => {},
  })
  discard(body)
  if (status >= 200 && status < 300) return true
  if (status === 401 || status === 403) return false
  throw new OriginError(`the shop answers ${status} to ${question}`, 'broken', null)
}
