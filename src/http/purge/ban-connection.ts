import type { Socket } from 'node:net'
import type { WholeAnswer } from '../answer.ts'
import { mayBeBan, readBan, readPurge, type WholeBan } from './ban-request.ts'
import { forbidden, purgeAnswer, type PurgeMethods } from './methods.ts'
import { endWith } from '../front/refuse.ts'
import { renderAnswer } from '../front/render.ts'
import { currentRequest, type RequestRecord } from '../front/request-record.ts'

interface Next {
  /** Resumes the paused connection after an answer. `flushed`: the kernel has taken all of it; `rest`: what arrived behind the request. */
  proceed(flushed: boolean, rest: Buffer): void
  /** Hands the connection to Node's parser: the bytes are no purge. */
  leave(bytes: Buffer): void
  /** Starts the record of a request for the metrics and the access log. */
  record(): RequestRecord
}

/**
 * Answers purges on a connection that Node's server has not taken over (`hit-connection`): BAN and PURGEKEYS, which Node's parser does not
 * know, and PURGE where a chunk has the whole request, which is twice as fast as through Node's server.
 */
export class BanReader {
  readonly #socket: Socket
  readonly #purges: () => PurgeMethods
  readonly #patience: number
  readonly #next: Next
  #held: Buffer | null = null
  #deadline: NodeJS.Timeout | null = null
  #stopping = false
  working = false

  /** @param patience milliseconds until the whole head must have arrived */
  constructor(socket: Socket, purges: () => PurgeMethods, patience: number, next: Next) {
    this.#socket = socket
    this.#purges = purges
    this.#patience = patience
    this.#next = next
    socket.once('close', () => this.#drop())
  }

  /** Whether the first part of such a request has arrived. */
  get isHolding(): boolean {
    return this.#held !== null
  }

  /** Handles a chunk that is part of such a request; false where it is not. */
  take(chunk: Buffer): boolean {
    const purge = this.#held === null ? readPurge(chunk) : null
    if (purge !== null && this.#purges().isPurger(this.#socket.remoteAddress)) {
      void this.#answer(purge, chunk.subarray(purge.length))
      return true
    }
    if (this.#held === null && !mayBeBan(chunk)) return false
    const bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk])
    const reading = readBan(bytes)
    if (reading.kind === 'other') {
      const held = this.#held !== null
      this.#drop()
      if (held) this.#next.leave(bytes)
      return held
    }
    const stranger =
      reading.kind === 'whole' || reading.named ? !this.#purges().isPurger(this.#socket.remoteAddress) : false
    if (stranger) this.#refuse(forbidden)
    else if (reading.kind === 'partial') this.#hold(bytes)
    else void this.#answer(reading, bytes.subarray(reading.length))
    return true
  }

  /** Makes the next answer the last of the connection. */
  stop(): void {
    this.#stopping = true
  }

  #hold(bytes: Buffer): void {
    this.#held = bytes
    this.#deadline ??= setTimeout(
      () => this.#refuse(purgeAnswer(408, 'The request arrived too slowly.')),
      this.#patience,
    )
  }

  #drop(): void {
    this.#held = null
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#deadline = null
  }

  #refuse(answer: WholeAnswer): void {
    this.#drop()
    this.#socket.removeAllListeners('data')
    endWith(this.#socket, renderAnswer(answer, true))
  }

  async #answer(ban: WholeBan, rest: Buffer): Promise<void> {
    this.#drop()
    this.working = true
    // Requests are answered one at a time: the next one waits in the socket.
    this.#socket.pause()
    this.#socket.setTimeout(0)
    const record = this.#next.record()
    const answer = await currentRequest.run(record, () => this.#purges().answer(ban.head, this.#socket, record))
    record.end(ban.head.method, answer.status)
    this.working = false
    const close = ban.close || this.#stopping || answer.status >= 400
    if (close) {
      // Discard what arrives behind the last answer.
      this.#socket.removeAllListeners('data')
      return endWith(this.#socket, renderAnswer(answer, true))
    }
    this.#next.proceed(this.#socket.write(renderAnswer(answer, false)), rest)
  }
}
