import type { Socket } from 'node:net'
import { formatHttpDate } from '../../lib/http-date.ts'
import { parseEventRequest } from './event-request.ts'
import type { FrontOptions } from '../front/front-options.ts'
import { mostFields } from '../front/guard.ts'
import { endWith } from '../front/refuse.ts'
import { renderHead } from '../front/render.ts'
import { currentRequest, RequestRecord } from '../front/request-record.ts'
import { fieldsOf, type StageAnswer } from './request.ts'

export type EventFront = Pick<FrontOptions, 'stages' | 'isTrusted' | 'traffic' | 'accessLog' | 'begin'>

/** Takes events of popup stages off a connection that is still ours (`hit-connection`). */
export class EventReader {
  readonly #socket: Socket
  readonly #front: EventFront
  readonly #proceed: (flushed: boolean) => void
  #stopping = false
  working = false

  /** @param proceed an event was answered and the connection, which is paused, goes on; `flushed`: the client has room for more */
  constructor(socket: Socket, front: EventFront, proceed: (flushed: boolean) => void) {
    this.#socket = socket
    this.#front = front
    this.#proceed = proceed
  }

  /** True where the chunk is one event and is taken care of. */
  take(chunk: Buffer, trusted: boolean): boolean {
    const event = parseEventRequest(chunk, trusted, mostFields)
    if (event === null) return false
    const { stages, traffic, accessLog } = this.#front
    const record = new RequestRecord(traffic, accessLog)
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
    record.is('stage')
    void this.#answer(answer, record)
    return true
  }

  /** The connection ends when the next answer is sent. */
  stop(): void {
    this.#stopping = true
  }

  async #answer(answering: Promise<StageAnswer>, record: RequestRecord): Promise<void> {
    const over = this.#front.begin()
    this.working = true
    // Requests are answered one after the other: what comes behind waits in the socket.
    this.#socket.pause()
    this.#socket.setTimeout(0)
    const answer = await answering
    this.working = false
    this.#send(answer)
    over()
    record.end('POST', answer.status)
  }

  #send(answer: StageAnswer): void {
    if (this.#socket.destroyed) return
    const bytes = render(answer, this.#stopping)
    if (!this.#stopping) return this.#proceed(this.#socket.write(bytes))
    this.#socket.removeAllListeners('data')
    endWith(this.#socket, bytes)
  }
}

function render(answer: StageAnswer, close: boolean): Buffer {
  const fields = fieldsOf(answer)
  fields.push(['Date', formatHttpDate(Date.now())])
  if (close) fields.push(['Connection', 'close'])
  return Buffer.concat([renderHead(answer.status, fields), Buffer.from(answer.body)])
}
