import { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import type { HeaderPair } from '../pages/page.ts'

export interface Dispatched {
  status: number
  headers: HeaderPair[]
  body: Readable
}

export interface DispatchOptions extends Dispatcher.DispatchOptions {
  signal: AbortSignal
  onInterim(status: number, headers: HeaderPair[]): void
}

/**
 * Sends a request and resolves with the response head; rejects with what undici says, or the signal.
 * Its own handler and not `agent.request`: that one reads a piece ahead for a reader who has paused.
 */
export function dispatch(agent: Agent, { signal, onInterim, ...request }: DispatchOptions): Promise<Dispatched> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    let controller: Dispatcher.DispatchController | null = null
    let body: OriginBody | null = null
    const onAbort = () => controller?.abort(signal.reason as Error)
    const over = () => signal.removeEventListener('abort', onAbort)
    signal.addEventListener('abort', onAbort, { once: true })
    agent.dispatch(request, {
      onRequestStart: (started) => {
        controller = started
        if (signal.aborted) onAbort()
      },
      onResponseStart: (responding, status) => {
        const headers = rawPairs(responding.rawHeaders as Buffer[])
        if (status < 200) return onInterim(status, headers)
        body = new OriginBody(responding)
        resolve({ status, headers, body })
      },
      onResponseData: (_, chunk) => body!.receive(chunk),
      onResponseEnd: () => {
        over()
        body!.finish()
      },
      onResponseError: (_, error) => {
        over()
        reject(error)
        body?.destroy(error)
      },
    })
  })
}

/** A body on its way from the shop: the connection is read no further than its reader asks. */
class OriginBody extends Readable {
  readonly #controller: Dispatcher.DispatchController
  #whole = false

  constructor(controller: Dispatcher.DispatchController) {
    // Nothing is read ahead: what hundreds of slow visitors have waiting adds up.
    super({ highWaterMark: 0 })
    this.#controller = controller
    // It may break off before anybody reads it; the reader is told by its own listener.
    this.on('error', () => {})
  }

  receive(chunk: Buffer): void {
    // The parser reports nothing as a piece of its own when it goes on.
    if (chunk.length === 0) return
    // A reader that paused while it was given this piece wants no second one to be kept for it.
    if (!this.push(chunk) || this.isPaused()) this.#controller.pause()
  }

  finish(): void {
    this.#whole = true
    this.push(null)
  }

  override _read(): void {
    this.#controller.resume()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#whole) this.#controller.abort(error ?? new Error('nobody reads the answer'))
    callback(error)
  }
}

/** Values are bytes: what is no ASCII comes through as it is. */
function rawPairs(raw: readonly Buffer[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([raw[index]!.toString(), raw[index + 1]!.toString('latin1')])
  return pairs
}
