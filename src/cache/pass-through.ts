import { AsyncResource } from 'node:async_hooks'
import { formatCacheStatus, type ForwardReason } from './cache-status.ts'
import type { Channel } from './channel.ts'
import type { Confirmations } from './confirmations.ts'
import { cookieHeader, parseCookies } from './fields.ts'
import { passHeaders, tagsOf, visibleHeaders, withAuthorization } from './forward.ts'
import { withoutSetCookie } from './set-cookie.ts'
import type { HeaderPair } from '../pages/page.ts'
import { OriginError, type OriginClient, type OriginResponse } from './origin.ts'
import type { Exchange, ExchangeRequest, ResponseHead, ResponseSink } from './origin/exchange.ts'
import type { Target } from './target.ts'
import type { UnsafeInvalidation } from './unsafe.ts'
import type { CacheAnswer, Visit, VisitHead } from './visit.ts'
import type { VisitorClassifier } from './visitor-classes.ts'

export interface Route {
  channel: Channel
  target: Target
  url: string
  /** Why the request bypasses the cache, in words. */
  reason: string
  /** Below `cache.assets`: no cookies in either direction. */
  isAsset: boolean
}

/** A visitor's request that is passed through without streams. */
export interface PassedVisit extends VisitHead {
  body: ExchangeRequest['body']
}

/** Receives the response to a request that is passed through without streams. */
export interface PassSink extends ResponseSink {
  /** An error of the daemon instead of a response. The exchange is over. */
  onFault(error: unknown): void
}

/**
 * Passes requests through to the shop, streaming both ways. Successful unsafe requests invalidate pages (RFC 9111
 * §4.4).
 */
export class PassThrough {
  readonly #origin: OriginClient
  readonly #confirmations: Confirmations
  readonly #classes: VisitorClassifier
  readonly #unsafe: UnsafeInvalidation

  constructor(
    parts: { origin: OriginClient; confirmations: Confirmations; classes: VisitorClassifier },
    unsafe: UnsafeInvalidation,
  ) {
    this.#origin = parts.origin
    this.#classes = parts.classes
    this.#confirmations = parts.confirmations
    this.#unsafe = unsafe
  }

  async pass(visit: Visit, route: Route): Promise<CacheAnswer> {
    const response = await this.#send(visit, route)
    await this.#learn(visit, route, response)
    return {
      status: response.status,
      headers: toVisible(visit, route, response),
      body: response.body,
      tags: tagsOf(response.headers),
    }
  }

  async #send(visit: Visit, route: Route): Promise<OriginResponse> {
    const { body, signal, onInterim } = visit
    try {
      const request = this.#toRequest(visit, route)
      return await this.#origin.send({ ...request, body: isBodiless(visit) ? null : body, signal, onInterim })
    } catch (error) {
      if (error instanceof OriginError) error.why = whyPassed(visit)
      throw error
    }
  }

  /** Passes a request through without streams. The sink gets the head that a visitor may see. */
  begin(visit: PassedVisit, route: Route, sink: PassSink): Exchange {
    const request = { ...this.#toRequest(visit, route), body: isBodiless(visit) ? null : visit.body }
    const learn = (head: ResponseHead) => this.#learn(visit, route, head)
    // `AsyncLocalStorage.snapshot` takes sixty times as long.
    const context = isBodiless(visit) ? null : new AsyncResource('pass-through')
    const passed = new PassedSink(sink, whyPassed(visit), (head) => ({
      head: { ...head, headers: toVisible(visit, route, head) },
      // The context of the connection to the shop is that of the request that opened it: its id must not be logged.
      changed: context === null ? learn(head) : context.runInAsyncScope(learn, null, head),
    }))
    passed.exchange = this.#origin.begin(request, passed)
    return passed.exchange
  }

  #toRequest(visit: VisitHead, { channel, isAsset }: Route): Omit<ExchangeRequest, 'body'> {
    const { method, target, scheme, host, headers, remoteAddress, forwardedFor, memo } = visit
    const make = () =>
      withAuthorization(passHeaders(isAsset ? this.#classes.withoutCookies(visit) : visit, isAsset), channel)
    const inputs = [method, scheme, host, headers, remoteAddress, forwardedFor, channel]
    const passed = isAsset || memo === undefined ? make() : memo.of('passed', inputs, make)
    return { origin: channel.origin, method, target, headers: passed, ...(memo !== undefined && { memo }) }
  }

  /** Null when the response changes no page. */
  #learn(visit: VisitHead, { channel, url, isAsset }: Route, response: Pick<ResponseHead, 'status' | 'headers'>) {
    const visitor = { channelId: channel.id, cookies: parseCookies(cookieHeader(visit.headers)) }
    if (!isAsset) this.#confirmations.learn(visitor, response.headers)
    return this.#unsafe.after(visit.method, url, response)
  }
}

/** A head as a visitor may see it. `changed`: until then, pages that the response changes may still be served. */
interface Taken {
  head: ResponseHead
  changed: Promise<void> | null
}

type Take = (head: ResponseHead) => Taken

/** Hands on a response, its head as a visitor may see it, and only when the pages that it changes are gone. */
class PassedSink implements ResponseSink {
  exchange: Exchange | null = null
  readonly #sink: PassSink
  readonly #why: ForwardReason
  readonly #take: Take

  constructor(sink: PassSink, why: ForwardReason, take: Take) {
    this.#sink = sink
    this.#why = why
    this.#take = take
  }

  onHead(received: ResponseHead): boolean {
    const { head, changed } = this.#taken(received)
    if (changed === null) return this.#sink.onHead(head)
    const proceed = () => {
      const exchange = this.exchange!
      if (!exchange.over && this.#sink.onHead(head)) exchange.resume()
    }
    changed.then(proceed, (error: unknown) => {
      if (this.exchange!.over) return
      this.exchange!.abort()
      this.#sink.onFault(error)
    })
    return false
  }

  #taken(received: ResponseHead): Taken {
    try {
      return this.#take(received)
    } catch (error) {
      return { head: received, changed: Promise.reject(error as Error) }
    }
  }

  onInterim(status: number, headers: readonly HeaderPair[]): void {
    this.#sink.onInterim(status, headers)
  }

  onData(piece: Buffer): boolean {
    return this.#sink.onData(piece)
  }

  onDrain(): void {
    this.#sink.onDrain()
  }

  onEnd(overlong: boolean): void {
    this.#sink.onEnd(overlong)
  }

  onError(error: OriginError): void {
    error.why = this.#why
    this.#sink.onError(error)
  }
}

function isBodiless({ method }: VisitHead): boolean {
  return method === 'GET' || method === 'HEAD'
}

function whyPassed({ method }: VisitHead): ForwardReason {
  return method === 'GET' ? 'bypass' : 'method'
}

function toVisible(visit: VisitHead, { reason, isAsset }: Route, response: Pick<ResponseHead, 'status' | 'headers'>) {
  const outcome = formatCacheStatus({ kind: 'forward', why: whyPassed(visit), status: response.status, detail: reason })
  const visible = isAsset ? withoutSetCookie(visibleHeaders(response)) : visibleHeaders(response)
  return [...visible, ['Cache-Status', outcome]] satisfies HeaderPair[]
}
