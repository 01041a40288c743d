import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Accepted } from './guard.ts'
import type { Result, Traffic } from './traffic.ts'

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

/** Collects what the metrics and the access log record about a request. */
export class RequestRecord {
  readonly started = performance.now()
  /** Null until the guard has accepted the request. */
  accepted: Accepted | null = null
  readonly #traffic: Traffic
  readonly #log: AccessLog | null
  #id: string | null = null
  #result: Result = 'refused'
  #answeredAt = 0

  constructor(traffic: Traffic, log: AccessLog | null) {
    this.#traffic = traffic
    this.#log = log
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

  /** Notes that the answer begins now. */
  beginAnswer(result: Result): void {
    this.#result = result
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
    this.#traffic.count(this.#result, status, ms)
    if (this.#log === null) return
    const path = (this.accepted?.target ?? '').split('?', 1)[0]!
    this.#log({
      id: this.id,
      method,
      host: this.accepted?.host ?? '',
      path,
      status,
      result: this.#result,
      ms,
      totalMs: ended - this.started,
    })
  }
}
