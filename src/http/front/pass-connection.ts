import type { Socket } from 'node:net'
import type { PassedVisit } from '../../cache/pass-through.ts'
import { visitorLeft } from '../../cache/visit.ts'
import { refuserFor } from './error-page.ts'
import type { FrontOptions } from './front-options.ts'
import { ownPathOf } from './handle-request.ts'
import { answerOwn } from './own-request.ts'
import { PassAnswer, type PassConnection } from './pass-answer.ts'
import { toPassRequest, type PassRequest } from './pass-request.ts'
import type { PlainRequest } from './plain-request.ts'
import { endGently } from './refuse.ts'
import { currentRequest, RequestRecord } from './request-record.ts'

export type PassFront = Pick<
  FrontOptions,
  'cache' | 'answerOwn' | 'errorPage' | 'traffic' | 'accessLog' | 'begin' | 'onError'
>

/** Milliseconds that the second piece of a request may take. Clients send head and body at once, but often in two writes. */
const patience = 1000

/** A request under way. */
interface Passing {
  answer: PassAnswer
  /** Records the request. */
  end(): void
}

/**
 * Answers requests on the socket that are no hits. Those that the cache must not answer are passed to the shop
 * (docs/decisions/0079-pass-through-from-the-socket.md); a GET or HEAD is answered by the endpoint of the daemon that it names, or by the cache
 * (docs/decisions/0085-answers-on-the-socket.md). The request must be the whole of a chunk, or of two where the first one ends in the body.
 * Everything else goes to Node's server.
 */
export class PassReader implements PassConnection {
  readonly socket: Socket
  readonly stall: number
  readonly #front: PassFront
  readonly #proceed: (flushed: boolean) => void
  #held: Buffer | null = null
  #passing: Passing | null = null
  isLast = false

  /**
   * @param stall milliseconds until a client that does not read its answer is cut
   * @param proceed resumes the paused connection after an answer; `flushed`: the kernel has taken all of it
   */
  constructor(socket: Socket, front: PassFront, stall: number, proceed: (flushed: boolean) => void) {
    this.socket = socket
    this.stall = stall
    this.#front = front
    this.#proceed = proceed
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  get working(): boolean {
    return this.#passing !== null || this.isHolding
  }

  /** Returns the beginning of a request that was held back, and forgets it. */
  release(): Buffer {
    const held = this.#held!
    this.#held = null
    return held
  }

  /**
   * Takes a chunk that is exactly one request for the shop; false where it is not.
   *
   * @param mayHold whether the rest of a body may be waited for
   */
  take(head: PlainRequest, chunk: Buffer, trusted: boolean, mayHold: boolean): boolean {
    const request = toPassRequest(head, chunk)
    if (request === null) return false
    if (request.missing === 0) return this.#begin(request, trusted)
    if (mayHold) {
      this.#held = chunk
      this.socket.setTimeout(patience)
    }
    return mayHold
  }

  /** Makes the next answer the last of the connection. */
  stop(): void {
    this.isLast = true
  }

  /** Gives up the request under way: the client has left. */
  abandon(): void {
    this.#passing?.answer.abandon()
    this.#finish()
  }

  onError(message: string, error: unknown): void {
    this.#front.onError(message, error)
  }

  onAnswered(isLast: boolean): void {
    this.#finish()
    if (isLast) endGently(this.socket)
    else this.#proceed(this.socket.writableLength === 0 || !this.socket.writableNeedDrain)
  }

  #begin(request: PassRequest, trusted: boolean): boolean {
    const { begin, errorPage } = this.#front
    const { method, head } = request
    const record = new RequestRecord(this.#front)
    record.accepted = { scheme: head.scheme, host: head.host, target: head.target }
    const refuse = refuserFor(
      errorPage,
      (name) => head.field(name),
      () => record.id,
    )
    const answer = new PassAnswer(this, method, record, refuse)
    if (!currentRequest.run(record, () => this.#start(request, trusted, answer, record))) return false
    const end = begin()
    this.#passing = {
      answer,
      end: () => {
        end()
        record.end(method, answer.status)
      },
    }
    this.socket.setTimeout(0)
    return true
  }

  /** Whether the request is answered here. */
  #start(request: PassRequest, trusted: boolean, answer: PassAnswer, record: RequestRecord): boolean {
    try {
      const place = ownPathOf(request.head, this.#front)
      return place === null
        ? this.#visit(visitOf(request, this.socket, trusted), answer)
        : answerOwn(place, request, this.socket, this.#front, record, answer)
    } catch (error) {
      this.#front.onError('Could not answer a request from its socket', error)
      return false
    }
  }

  #visit(visit: PassedVisit, answer: PassAnswer): boolean {
    const { cache } = this.#front
    const routed = cache.route(visit)
    answer.source = cache.pass(routed, answer)
    if (answer.source !== null) return true
    if (visit.body !== null || (visit.method !== 'GET' && visit.method !== 'HEAD')) return false
    const gone = new AbortController()
    answer.source = { abort: () => gone.abort(visitorLeft), pause: () => {}, resume: () => {} }
    const onInterim = answer.onInterim.bind(answer)
    const whole = { ...routed.visit, body: null, signal: gone.signal, onInterim }
    cache.answerRouted({ visit: whole, found: routed.found }, answer.refuse).then(
      (given) => answer.writeTogether(given, () => answer.respond(given)),
      (error: unknown) => answer.onFault(error),
    )
    return true
  }

  #finish(): void {
    const passing = this.#passing
    this.#passing = null
    passing?.end()
  }
}

/** The request as the cache sees it, like that of Node's server. */
function visitOf({ method, head, body }: PassRequest, socket: Socket, trusted: boolean): PassedVisit {
  return {
    method,
    scheme: head.scheme,
    host: head.host,
    target: head.target,
    headers: head.block.endToEnd,
    memo: head.block.memo,
    remoteAddress: socket.remoteAddress ?? null,
    forwardedFor: trusted ? head.field('x-forwarded-for') : null,
    isTrusted: trusted,
    body,
  }
}
