import type { Socket } from 'node:net'
import { formatHttpDate } from '../../lib/http-date.ts'
import type { WholeAnswer } from '../answer.ts'
import { toEventRequest } from './event-request.ts'
import type { FrontOptions } from '../front/front-options.ts'
import type { PlainRequest } from '../front/plain-request.ts'
import { endWith } from '../front/refuse.ts'
import { renderAnswer } from '../front/render.ts'
import { currentRequest, RequestRecord } from '../front/request-record.ts'

export type EventFront = Pick<FrontOptions, 'stages' | 'isTrusted' | 'traffic' | 'accessLog' | 'cache' | 'begin'>

/** Answers events of popup stages on a connection that Node's server has not taken over (`hit-connection`). */
export class EventReader {
  readonly #socket: Socket
  readonly #front: EventFront
  readonly #proceed: (flushed: boolean) => void
  #stopping = false
  working = false

  /**
   * @param proceed resumes the paused connection after an answer; `flushed`: the kernel has taken all of it
   */
  constructor(socket: Socket, front: EventFront, proceed: (flushed: boolean) => void) {
    this.#socket = socket
    this.#front = front
    this.#proceed = proceed
  }

  /** Answers the chunk if it is exactly one event; false where it is not. */
  take(head: PlainRequest, chunk: Buffer): boolean {
    const event = toEventRequest(head, chunk)
    if (event === null) return false
    const { stages } = this.#front
    const record = new RequestRecord(this.#front)
    const { scheme, host, target } = event.head
    const accepted = { scheme, host, target }
    const answer = currentRequest.run(record, () =>
      stages.take(
        { ...accepted, address: this.#socket.remoteAddress, field: (name) => event.head.field(name) },
        event.body,
      ),
    )
    if (answer === null) return false
    record.accepted = accepted
    record.setResult('stage')
    void this.#answer(answer, record)
    return true
  }

  /** Makes the next answer the last of the connection. */
  stop(): void {
    this.#stopping = true
  }

  async #answer(pending: Promise<WholeAnswer>, record: RequestRecord): Promise<void> {
    const end = this.#front.begin()
    this.working = true
    // Requests are answered one at a time: the next one waits in the socket.
    this.#socket.pause()
    this.#socket.setTimeout(0)
    const answer = await pending
    this.working = false
    this.#send(answer)
    end()
    record.end('POST', answer.status)
  }

  #send(answer: WholeAnswer): void {
    if (this.#socket.destroyed) return
    const headers = [...answer.headers, ['Date', formatHttpDate(Date.now())] as const]
    const bytes = renderAnswer({ ...answer, headers }, this.#stopping)
    if (!this.#stopping) return this.#proceed(this.#socket.write(bytes))
    this.#socket.removeAllListeners('data')
    endWith(this.#socket, bytes)
  }
}
