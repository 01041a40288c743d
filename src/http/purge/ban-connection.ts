import type { Socket } from 'node:net'
import { mayBeBan, readBan, type BanReading } from './ban-request.ts'
import { forbidden, purgeHeaders, reasonOf, type PurgeAnswer, type PurgeMethods } from './methods.ts'
import { endWith } from '../front/refuse.ts'
import { renderHead } from '../front/render.ts'

interface Next {
  /** A request was answered, and what came behind it is to be looked at; the connection is paused. `flushed`: the client has room for more. */
  proceed(flushed: boolean, rest: Buffer): void
  /** It was none: Node decides about all of it. */
  leave(bytes: Buffer): void
}

type WholeBan = Extract<BanReading, { kind: 'whole' }>

/** Reads purges by methods that Node's parser does not know off a connection that is still ours (`hit-connection`). */
export class BanReader {
  readonly #socket: Socket
  readonly #purges: () => PurgeMethods
  readonly #patience: number
  readonly #next: Next
  #held: Buffer | null = null
  #deadline: NodeJS.Timeout | null = null
  #stopping = false
  working = false

  /** @param patience how long a head may take, milliseconds */
  constructor(socket: Socket, purges: () => PurgeMethods, patience: number, next: Next) {
    this.#socket = socket
    this.#purges = purges
    this.#patience = patience
    this.#next = next
    socket.once('close', () => this.#drop())
  }

  /** True where the chunk is part of such a request and is taken care of. */
  take(chunk: Buffer): boolean {
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

  /** The connection ends when the next answer is sent. */
  stop(): void {
    this.#stopping = true
  }

  #hold(bytes: Buffer): void {
    this.#held = bytes
    this.#deadline ??= setTimeout(
      () => this.#refuse({ status: 408, text: 'The request came too slowly.' }),
      this.#patience,
    )
  }

  #drop(): void {
    this.#held = null
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#deadline = null
  }

  #refuse(answer: PurgeAnswer): void {
    this.#drop()
    this.#socket.removeAllListeners('data')
    endWith(this.#socket, renderAnswer(answer, true))
  }

  async #answer(ban: WholeBan, rest: Buffer): Promise<void> {
    this.#drop()
    this.working = true
    // Requests are answered one after the other: what comes behind waits in the socket.
    this.#socket.pause()
    this.#socket.setTimeout(0)
    const answer = await this.#purges().answer(ban.head, this.#socket.remoteAddress)
    this.working = false
    const close = ban.close || this.#stopping || answer.status >= 400
    if (close) {
      // What comes behind the last answer is read and thrown away.
      this.#socket.removeAllListeners('data')
      return endWith(this.#socket, renderAnswer(answer, true))
    }
    this.#next.proceed(this.#socket.write(renderAnswer(answer, false)), rest)
  }
}

/** An answer in bytes. */
export function renderAnswer(answer: PurgeAnswer, close: boolean): Buffer {
  const headers = close ? [...purgeHeaders(answer), ['Connection', 'close'] as const] : purgeHeaders(answer)
  return Buffer.concat([
    renderHead(
      answer.status,
      headers.map(([name, value]) => [name, value]),
      reasonOf(answer),
    ),
    Buffer.from(answer.text),
  ])
}
