import { formatCacheStatus } from './cache-status.ts'
import type { Channel } from './channel.ts'
import type { Confirmations } from './confirmations.ts'
import { cookieHeader, parseCookies } from './fields.ts'
import { passHeaders, tagsOf, visibleHeaders, withAuthorization } from './forward.ts'
import type { OriginClient } from './origin.ts'
import type { Target } from './target.ts'
import type { UnsafeInvalidation } from './unsafe.ts'
import type { Answer, Visit } from './visit.ts'

export interface Route {
  channel: Channel
  target: Target
  url: string
  /** Why the request bypasses the cache, in words. */
  reason: string
}

/**
 * Passes requests through to the shop, streaming both ways. Successful unsafe requests invalidate pages (RFC 9111
 * §4.4).
 */
export class PassThrough {
  readonly #origin: OriginClient
  readonly #confirmations: Confirmations
  readonly #unsafe: UnsafeInvalidation

  constructor(parts: { origin: OriginClient; confirmations: Confirmations }, unsafe: UnsafeInvalidation) {
    this.#origin = parts.origin
    this.#confirmations = parts.confirmations
    this.#unsafe = unsafe
  }

  async pass(visit: Visit, route: Route): Promise<Answer> {
    const bodiless = visit.method === 'GET' || visit.method === 'HEAD'
    const response = await this.#origin.send({
      origin: route.channel.origin,
      method: visit.method,
      target: visit.target,
      headers: withAuthorization(passHeaders(visit), route.channel),
      body: bodiless ? null : visit.body,
      signal: visit.signal,
      onInterim: visit.onInterim,
    })
    this.#confirmations.learn(
      { channelId: route.channel.id, cookies: parseCookies(cookieHeader(visit.headers)) },
      response.headers,
    )
    await this.#unsafe.after(visit.method, route.url, response)
    const outcome = formatCacheStatus({
      kind: 'forward',
      why: visit.method === 'GET' ? 'bypass' : 'method',
      status: response.status,
      detail: route.reason,
    })
    return {
      status: response.status,
      headers: [...visibleHeaders(response.headers), ['Cache-Status', outcome]],
      body: response.body,
      tags: tagsOf(response.headers),
    }
  }
}
