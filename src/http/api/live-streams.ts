import { setTimeout as sleep } from 'node:timers/promises'
import { PassThrough } from 'node:stream'
import { once } from 'node:events'
import type { Follower } from '../../operations/operation.ts'
import { errorAnswer, type Answer } from '../answer.ts'

/** Streams of one process. Each holds a connection. */
const mostStreams = 32
/** Milliseconds between two checks of a stream's token. */
const checkInterval = 1000
/** Checks between two comments, which tell a proxy and the system that the stream is alive: 10 seconds. */
const checksPerComment = 10

interface Performed {
  /** Performs the operation until the follower leaves. */
  perform(follower: Follower): Promise<unknown>
  /** Whether the client may still read: its token may have expired or been revoked. */
  mayGoOn(): Promise<boolean>
}

const headers: Answer['headers'] = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-store'],
  // Proxies such as nginx pass each event on at once.
  ['X-Accel-Buffering', 'no'],
]

/** Answers with streams of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class LiveStreams {
  readonly #retired: AbortSignal
  #open = 0

  /** @param retired ends all streams */
  constructor(retired: AbortSignal) {
    this.#retired = retired
  }

  /**
   * Answers once the operation has emitted its first event. A failure before it is thrown, and becomes an error answer.
   *
   * @param headOnly whether the client asks for the head alone
   */
  async open(headOnly: boolean, { perform, mayGoOn }: Performed): Promise<Answer> {
    if (headOnly) return { status: 200, headers, body: null }
    if (this.#open >= mostStreams) return errorAnswer(503, 'Too many clients watch.', [['Retry-After', '10']])
    const left = new AbortController()
    const signal = AbortSignal.any([left.signal, this.#retired])
    const body = new PassThrough()
    const begun = Promise.withResolvers<void>()
    this.#open += 1
    body.once('close', () => {
      this.#open -= 1
      left.abort()
    })
    const emit = async (event: unknown) => {
      begun.resolve()
      if (signal.aborted) return
      if (!body.write(toMessage(event))) await once(body, 'drain', { signal }).catch(() => {})
    }
    const over = perform({ emit, signal }).then(
      () => begun.resolve(),
      (error: unknown) => begun.reject(error),
    )
    void over.then(() => body.end())
    try {
      await begun.promise
    } catch (error) {
      body.destroy()
      throw error
    }
    void watchToken(body, signal, mayGoOn).then(() => left.abort())
    return { status: 200, headers, body }
  }
}

/** Comments on a stream until it has ended, or its client may no longer read. */
async function watchToken(body: PassThrough, signal: AbortSignal, mayGoOn: () => Promise<boolean>): Promise<void> {
  for (let checks = 1; ; checks += 1) {
    await sleep(checkInterval, undefined, { signal }).catch(() => {})
    if (signal.aborted || !(await mayGoOn().catch(() => false)) || body.writableEnded) return
    // A slow reader has enough to read.
    if (checks % checksPerComment === 0 && !body.writableNeedDrain) body.write(': alive\n\n')
  }
}

/** A message, named by the kind of its event. */
function toMessage(event: unknown): string {
  const { kind } = event as { kind: string }
  return `event: ${kind}\ndata: ${JSON.stringify(event)}\n\n`
}
