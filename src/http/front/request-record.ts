import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { ownStatus } from '../../cache/cache-status.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import { canonicalPath } from '../../cache/target.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { toSeen } from '../../traffic/live/seen.ts'
import { askedShop, isVisitors, reasonOf, resultOf } from '../../traffic/result.ts'
import type { Result, Traffic, TrafficType } from '../../traffic/traffic.ts'
import type { Accepted } from './guard.ts'

/** One line of the access log. Contains nothing about the visitor: no address, user agent, cookie or query. */
interface AccessLine {
  id: string
  method: string
  host: string
  path: string
  /** 0: the visitor left before the answer began. */
  status: number
  result: Result
  /** Milliseconds until the answer began. */
  ms: number
  /** Milliseconds until the answer ended. */
  totalMs: number
}

export type AccessLog = (line: AccessLine) => void

/** The request being handled; log lines carry its id. Hits answered from the socket log nothing and have none. */
export const currentRequest = new AsyncLocalStorage<RequestRecord>()

/** Creates an id for a request. Random: a running number would disclose the traffic and restart with each process. */
export function nextRequestId(): string {
  return randomUUID()
}

/** What requests are recorded with. A reload replaces its values in place. */
interface Recorders {
  traffic: Traffic
  accessLog: AccessLog | null
  cache: Pick<StorefrontCache, 'classifying'>
}

/** The id of the sales channel that a request is for; empty for none. */
export function channelIdOf({ classifying }: Recorders['cache'], { scheme, host, target }: Accepted): string {
  return classifying.channels.find(scheme, host, canonicalPath(target))?.id ?? ''
}

/** Collects what the metrics, the traffic and the access log record about a request. */
export class RequestRecord {
  readonly started = performance.now()
  /** Null until the guard has accepted the request. */
  accepted: Accepted | null = null
  /** Bytes of the body that were sent. */
  bytes = 0
  readonly #to: Recorders
  #id: string | null = null
  #result: Result = 'refused'
  #type: TrafficType = 'other'
  #cacheStatus: string | null = null
  #answeredAt = 0

  constructor(to: Recorders) {
    this.#to = to
  }

  get id(): string {
    return (this.#id ??= nextRequestId())
  }

  accept(accepted: Accepted, result: Result): void {
    this.accepted = accepted
    this.#result = result
  }

  setResult(result: Result): void {
    this.#result = result
  }

  /** Notes that the answer begins now, with its header fields and the type of its page. */
  beginAnswer(headers: readonly HeaderPair[], type: TrafficType = 'other'): void {
    this.#cacheStatus = ownStatus(headers)
    this.#result = resultOf(this.#cacheStatus)
    this.#type = type
    this.#answeredAt = performance.now()
  }

  /**
   * Counts and logs the finished request.
   *
   * @param status 0 where the visitor left before the answer began
   */
  end(method: string, status: number): void {
    const ended = performance.now()
    const ms = (this.#answeredAt === 0 ? ended : this.#answeredAt) - this.started
    const result = this.#result === 'refused' && status >= 500 ? 'error' : this.#result
    this.#count(method, result, status, ms)
    const { accessLog } = this.#to
    if (accessLog === null) return
    const path = (this.accepted?.target ?? '').split('?', 1)[0]!
    accessLog({
      id: this.id,
      method,
      host: this.accepted?.host ?? '',
      path,
      status,
      result,
      ms,
      totalMs: ended - this.started,
    })
  }

  #count(method: string, result: Result, status: number, ms: number): void {
    const { traffic, cache } = this.#to
    const site = this.accepted
    if (site === null || !isVisitors(result)) return traffic.count(result, status, ms)
    const channelId = channelIdOf(cache, site)
    const originMs = result === 'error' || askedShop(this.#cacheStatus ?? '') ? ms : 0
    const subject = { channelId, type: this.#type }
    traffic.count(result, status, ms, this.bytes, subject, originMs)
    if (result !== 'miss' && traffic.live === null) return
    const { host, target } = site
    const reason = reasonOf(this.#cacheStatus)
    traffic.live?.note(toSeen({ method, host, target, result, reason, status, ms }, subject))
    if (result === 'miss') traffic.misses.add(channelId, `${host}${target.split('?', 1)[0]}`, reason ?? '', originMs)
  }
}
