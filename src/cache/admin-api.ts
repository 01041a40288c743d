import type { Channel } from './channel.ts'
import { cacheName } from './forward.ts'
import { OriginError, type OriginClient } from './origin.ts'
import { discard } from './body.ts'

/** Shopware's admin API answers this path to any valid token: it needs no privilege and has no side effect. */
const versionPath = '/api/_info/version'

/**
 * Whether a shop's admin API accepts a bearer token.
 *
 * @throws OriginError when the shop is unreachable or answers neither 2xx, 401 nor 403
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
    target: versionPath,
    headers: [
      ['host', channel.host],
      ['x-forwarded-proto', channel.scheme],
      ['x-forwarded-host', channel.host],
      ['authorization', `Bearer ${token}`],
      ['accept', 'application/json'],
      ['via', `1.1 ${cacheName}`],
    ],
    body: null,
    signal,
    onInterim: () => {},
  })
  discard(body)
  if (status >= 200 && status < 300) return true
  if (status === 401 || status === 403) return false
  throw new OriginError(`the shop answered ${status} to GET ${versionPath}`, 'broken', null)
}
