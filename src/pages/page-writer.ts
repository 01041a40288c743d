import { Worker } from 'node:worker_threads'
import { setTimeout as pause } from 'node:timers/promises'
import { fromMessage } from '../errors.ts'
import { withYoungGeneration } from '../lib/young-generation.ts'
import type { FromWriter, ToWriter, WriterAnswer, WriterData, WriterTask } from './writer-messages.ts'

/** Delay before a thread that died is replaced, in milliseconds. */
const restartDelay = 1_000

/** How long `close` waits for a thread whose disk hangs, in milliseconds. */
const closingPatience = 2_000

/** Half of the thread's young generation, in MB. */
const youngGeneration = 1

/** Next to this file in the sources; under its own name in dist/, where this file is part of a chunk. */
const program = import.meta.url.endsWith('.ts') ? './writer-main.ts' : '../pages/writer-main.js'

/** The writer thread of this process: starts with the first task, performs one at a time, and is replaced when it dies. */
export class PageWriter {
  readonly #data: WriterData
  readonly #onDeath: (error: unknown) => void
  #worker: Promise<Worker> | null = null
  #diedAt = -Infinity
  #asked: { resolve(value: WriterAnswer): void; reject(error: unknown): void } | null = null
  readonly #closing = new AbortController()

  /** @param onDeath called when the thread has died, before its replacement starts */
  constructor(data: WriterData, onDeath: (error: unknown) => void) {
    this.#data = data
    this.#onDeath = onDeath
  }

  /** Performs one task. @throws what the task throws, and the reason when the thread dies or cannot start */
  async ask(task: WriterTask, now: number): Promise<WriterAnswer> {
    const worker = await this.#open()
    const { promise, resolve, reject } = Promise.withResolvers<WriterAnswer>()
    this.#asked = { resolve, reject }
    worker.ref()
    const own = task.kind === 'pages' && task.memory.buffer instanceof ArrayBuffer ? [task.memory.buffer] : []
    worker.postMessage({ task, now } satisfies ToWriter, own)
    return promise.finally(() => worker.unref())
  }

  #open(): Promise<Worker> {
    if (this.#worker !== null) return this.#worker
    const starting = (this.#worker = this.#start())
    // The system may have had no thread left: the next task tries again.
    starting.catch(() => {
      if (this.#worker !== starting) return
      this.#worker = null
      this.#diedAt = performance.now()
    })
    return starting
  }

  async #start(): Promise<Worker> {
    this.#closing.signal.throwIfAborted()
    const rest = this.#diedAt + restartDelay - performance.now()
    if (rest > 0) await pause(rest, undefined, { signal: this.#closing.signal })
    const worker = withYoungGeneration(
      youngGeneration,
      (resourceLimits) => new Worker(new URL(program, import.meta.url), { workerData: this.#data, resourceLimits }),
    )
    const { promise, resolve, reject } = Promise.withResolvers<Worker>()
    let cause: unknown = new Error('The writer thread has ended')
    worker.on('message', (message: FromWriter) => {
      if (message.kind !== 'opened') return this.#settle(message)
      // An idle thread must not keep the process alive.
      worker.unref()
      resolve(worker)
    })
    worker.once('error', (error: unknown) => (cause = error))
    worker.once('exit', () => {
      this.#worker = null
      this.#diedAt = performance.now()
      reject(cause)
      if (!this.#closing.signal.aborted) this.#onDeath(cause)
      this.#settle({ kind: 'dead', cause })
    })
    return promise
  }

  #settle(message: Exclude<FromWriter, { kind: 'opened' }> | { kind: 'dead'; cause: unknown }): void {
    const asked = this.#asked
    this.#asked = null
    if (message.kind === 'answer') asked?.resolve(message.value)
    else asked?.reject(message.kind === 'dead' ? message.cause : fromMessage(message.error))
  }

  /** Ends the thread once it is idle. */
  async close(): Promise<void> {
    this.#closing.abort()
    const worker = await this.#worker?.catch(() => null)
    if (!worker) return
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    worker.postMessage(null satisfies ToWriter)
    await Promise.race([gone, pause(closingPatience, undefined, { ref: false })])
    await worker.terminate()
  }
}
