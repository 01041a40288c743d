import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Accepted } from './guard.ts'
import type { Result, Traffic } from './traffic.ts'

/** One line of the access log. No address, no agent, no cookie and no query: nothing of the visitor. */
interface AccessLine {
  id: string
  method: string
  host: string
  path: string
  /** 0: the visitor left before there was an answer. */
  status: number
  result: Result
  /** Until the answer began, and until its end. */
  ms: number
  totalMs: number
}

export type AccessLog = (line: AccessLine) => void

/** The request for which something happens: what is logged meanwhile bears its id. Hits from memory log nothing and do without. */
export const currentRequest = new AsyncLocalStorage<RequestRecord>()

/** By which public name the request of now asks: what a trusted proxy says in X-Forwarded-Host goes before Host. */
export function askedHost(): string {
  return currentRequest.getStore()?.accepted?.host ?? ''
}

/** Names a request in the logs, and to who asked. A running number would tell everybody how much is asked here, and begin anew with each process. */
export function nextRequestId(): string {
  return randomUUID()
}

/** What is to be known of a request when it is over. */
export class RequestRecord {
  readonly started = performance.now()
  /** Null while it is not known whether it is sound. */
  accepted: Accepted | null = null
  readonly #traffic: Traffic
  readonly #log: AccessLog | null
  #id: string | null = null
  #result: Result = 'refused'
  #answered = 0
  #refused = 0

  constructor(traffic: Traffic, log: AccessLog | null) {
    this.#traffic = traffic
    this.#log = log
  }

  get id(): string {
    return (this.#id ??= nextRequestId())
  }

  is(result: Result): void {
    this.#result = result
  }

  /** Its answer begins. */
  answered(result: Result): void {
    this.#result = result
    this.#answered = performance.now()
  }

  /** It is answered past the response, on the connection itself. */
  refused(status: number): void {
    this.#refused = status
  }

  /** @param answered the status of the response; 0 where nothing was answered in it */
  end(method: string, answered: number): void {
    const ended = performance.now()
    const ms = (this.#answered === 0 ? ended : this.#answered) - this.started
    const status = answered === 0 ? this.#refused : answered
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
