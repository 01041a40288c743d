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
 * Sends a request and resolves with the response head; rejects with undici's error or the abort reason. Uses a handler
 * of its own because `agent.request` reads one piece ahead of a paused reader.
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

/** A response body from the shop. Reads the connection only as fast as its own reader. */
class OriginBody extends Readable {
  readonly #controller: Dispatcher.DispatchController
  #whole = false

  constructor(controller: Dispatcher.DispatchController) {
    // No read-ahead: buffers of hundreds of slow visitors would add up.
    super({ highWaterMark: 0 })
    this.#controller = controller
    // The body may fail before it has a reader, which adds its own listener.
    this.on('error', () => {})
  }

  receive(chunk: Buffer): void {
    // The parser reports an empty piece when it resumes.
    if (chunk.length === 0) return
    // A reader that paused during this piece must not have a second one buffered.
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
    if (!this.#whole) this.#controller.abort(error ?? new Error('the response body was discarded'))
    callback(error)
  }
}

/** Decodes header values as Latin-1, so that bytes outside ASCII pass unchanged. */
function rawPairs(raw: readonly Buffer[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([raw[index]!.toString(), raw[index + 1]!.toString('latin1')])
  return pairs
}
