import type { PageStore } from '../pages/page-store.ts'
import { cacheStatus } from './cache-status.ts'
import type { Channel } from './channel.ts'
import { cookieHeader, fieldValue, parseCookies } from './fields.ts'
import { passHeaders, tagsOf, visibleHeaders, withAuthorization } from './forward.ts'
import { canonicalUrl } from './key.ts'
import type { OriginClient, OriginResponse } from './origin.ts'
import type { ClassifyOptions } from './question.ts'
import type { Target } from './target.ts'
import type { Answer, Visit } from './visit.ts'

export interface Route {
  channel: Channel
  target: Target
  url: string
  /** Why this goes past the cache, in words. */
  reason: string
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'REPORT', 'QUERY'])

/** Passes requests through to the shop, streaming both ways; successful unsafe ones invalidate (RFC 9111 §4.4). */
export class Passage {
  readonly #store: PageStore
  readonly #origin: OriginClient
  readonly #classifying: ClassifyOptions

  constructor(parts: { store: PageStore; origin: OriginClient }, classifying: ClassifyOptions) {
    this.#store = parts.store
    this.#origin = parts.origin
    this.#classifying = classifying
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
    this.#classifying.confirmations.learn({ channelId: route.channel.id, cookies: parseCookies(cookieHeader(visit.headers)) }, response.headers)
    if (!safeMethods.has(visit.method) && response.status < 400) await this.#invalidate(route, response)
    const outcome = cacheStatus({ kind: 'forward', why: visit.method === 'GET' ? 'bypass' : 'method', status: response.status, detail: route.reason })
    return { status: response.status, headers: [...visibleHeaders(response.headers), ['Cache-Status', outcome]], body: response.body, tags: tagsOf(response.headers) }
  }

  /** The URL itself, and what Location and Content-Location name on the same site. */
  async #invalidate(route: Route, response: OriginResponse): Promise<void> {
    const { canonical, bypassPath } = this.#classifying
    const urls = new Set([route.url])
    for (const name of ['location', 'content-location']) {
      const reference = fieldValue(response.headers, name)
      if (reference === null || !URL.canParse(reference, route.url)) continue
      const named = new URL(reference, route.url)
      if (`${named.protocol}//${named.host}` !== `${route.channel.scheme}://${route.channel.host}`) continue
      urls.add(canonicalUrl(route.channel, canonical(`${named.pathname}${named.search}`)))
    }
    // What lies on a path that is never cached needs no row in the index for each click in the basket.
    const cacheable = [...urls].filter(url => !bypassPath(new URL(url).pathname.slice(route.channel.path.length) || '/'))
    if (cacheable.length > 0) await this.#store.remove({ kind: 'urls', urls: cacheable })
  }
}
