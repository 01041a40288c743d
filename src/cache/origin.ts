import type { Readable } from 'node:stream'
import type { HeaderPair } from '../pages/page.ts'
import type { ConnectionTimeouts } from './origin/connection.ts'
import type { Exchange, ExchangeRequest, ResponseSink } from './origin/exchange.ts'
import { OriginError } from './origin/error.ts'
import { PendingExchange } from './origin/pending.ts'
import { Pool } from './origin/pool.ts'
import { renderRequest } from './origin/request-head.ts'
import type { Collected } from './body.ts'
import { Slots, type Guest, type Slot, type SlotCounts, type SlotLimits } from './origin/slots.ts'
import { Streamed, type StreamedOptions, type StreamedResponse } from './origin/streamed.ts'
import { unlessAborted } from './origin/unless-aborted.ts'
import { fieldValue } from './fields.ts'
import type { Waiters } from './waiters.ts'

export { OriginError, toOriginError, type OriginFailure } from './origin/error.ts'
export { unlessAborted } from './origin/unless-aborted.ts'

/**
 * In milliseconds. `total` limits fetches for the cache; a transfer that is passed through has no total limit, only
 * `idle`.
 */
export interface OriginTimeouts extends ConnectionTimeouts {
  total: number
}

export interface OriginRequest extends Omit<ExchangeRequest, 'body'> {
  body: Readable | null
  /** Aborts the exchange, also while its response is read. */
  signal: AbortSignal | null
  /** The visitors who wait for the response. Once all have left, a request that was not sent is given up. Null: it is sent in any case. */
  waiters?: Waiters | null
  /** The longest time until the response is complete, in milliseconds, unless it is extended. */
  limit?: number
  /** The place of a request that was admitted already. */
  slot?: Slot | null
  onInterim(status: number, headers: readonly HeaderPair[]): void
}

export type OriginReply<Body> = StreamedResponse<Body>
export type OriginResponse = OriginReply<Readable>

const unlimited: SlotLimits = { maxConcurrent: Infinity, queue: 0, queueTimeout: 0 }
/** The most connections to one shop that are kept without a request. */
const mostIdle = 256

/** The HTTP client for all origins, with kept connections (docs/decisions/0072-own-client.md). */
export class OriginClient {
  readonly #timeouts: OriginTimeouts
  readonly #limits: SlotLimits
  readonly #pools = new Map<string, Pool>()
  readonly #slots = new Map<string, Slots>()

  constructor(timeouts: OriginTimeouts, limits: SlotLimits = unlimited) {
    this.#timeouts = timeouts
    this.#limits = limits
  }

  /** Sends a request, whose response the sink gets. */
  begin(request: ExchangeRequest, sink: ResponseSink): Exchange {
    try {
      return this.#begin(request, sink, Infinity, null)
    } catch (error) {
      if (!(error instanceof OriginError)) throw error
      process.nextTick(() => sink.onError(error))
      return nothing
    }
  }

  /**
   * Sends a request and resolves with the response head.
   *
   * @throws OriginError when there is no valid response head, VisitorLeft when that was the abort reason
   */
  async send(request: OriginRequest): Promise<OriginResponse> {
    return (await this.#send(request)) as OriginResponse
  }

  /**
   * Sends a request, and resolves with the whole response where `collect` wants its body in memory, else with its head.
   *
   * @throws OriginError when the response is not valid, or ends before the body was collected
   */
  collect(
    request: OriginRequest,
    collect: NonNullable<StreamedOptions['collect']>,
  ): Promise<OriginReply<Readable | Collected>> {
    return this.#send(request, collect)
  }

  #send(
    { body, limit = Infinity, slot = null, signal, waiters = null, onInterim, ...request }: OriginRequest,
    collect?: StreamedOptions['collect'],
  ): Promise<OriginReply<Readable | Collected>> {
    const streamed = new Streamed({ body, signal, waiters, onInterim, ...(collect && { collect }) })
    const whole: ExchangeRequest = { ...request, body: body === null ? null : 'stream' }
    return streamed.begin(() => this.#begin(whole, streamed, performance.now() + limit, slot))
  }

  /** Waits until visitors leave room for another request to an origin. @throws OriginError when the signal is aborted */
  async room(origin: string, signal: AbortSignal): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const slot = this.#slotsOf(origin).enterLast({ admitted: resolve, refused: reject })
    try {
      await unlessAborted(promise, signal)
      return slot
    } catch (error) {
      slot.leave()
      throw error
    }
  }

  /** Admits a visitor's request that this client does not send. */
  enter(origin: string, guest: Guest): Slot {
    return this.#slotsOf(origin).enter(guest)
  }

  /** The requests of visitors to all origins. */
  get counts(): SlotCounts {
    const sum = { active: 0, waiting: 0, rejected: 0 }
    for (const { counts } of this.#slots.values())
      for (const name of Object.keys(sum) as (keyof SlotCounts)[]) sum[name] += counts[name]
    return sum
  }

  #begin(request: ExchangeRequest, sink: ResponseSink, expires: number, slot: Slot | null): PendingExchange {
    const pool = this.#poolOf(request)
    const exchange = new PendingExchange(request, renderRequest(request, pool.host), sink, pool, expires)
    if (slot !== null) exchange.admitted()
    else exchange.slot = this.#slotsOf(request.origin).enter(exchange)
    return exchange
  }

  #poolOf({ origin, headers }: ExchangeRequest): Pool {
    // The name in a certificate is that of the Host field.
    const site = origin.startsWith('https:') ? (fieldValue(headers, 'host') ?? '') : ''
    const name = site === '' ? origin : `${origin} ${site}`
    let pool = this.#pools.get(name)
    if (pool === undefined) {
      pool = new Pool(origin, site, this.#timeouts, mostIdle, () => this.#pools.delete(name))
      this.#pools.set(name, pool)
    }
    return pool
  }

  #slotsOf(origin: string): Slots {
    let slots = this.#slots.get(origin)
    if (slots === undefined) this.#slots.set(origin, (slots = new Slots(this.#limits)))
    return slots
  }

  /** The limit for a whole fetch for the cache, in milliseconds. */
  get totalTimeout(): number {
    return this.#timeouts.total
  }

  /** The limits for a connection, and from there on for the head of a response, in milliseconds. */
  get headTimeouts(): Pick<OriginTimeouts, 'connect' | 'headers'> {
    return this.#timeouts
  }

  /** Ends all connections; exchanges under way fail. */
  close(): void {
    for (const slots of this.#slots.values()) slots.close()
    for (const pool of [...this.#pools.values()]) pool.close()
  }
}

/** An exchange that failed before it began. */
const nothing: Exchange = {
  over: true,
  write: () => true,
  end: () => {},
  pause: () => {},
  resume: () => {},
  abort: () => {},
}
