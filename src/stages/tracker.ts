import { Worker } from 'node:worker_threads'
import { fromMessage, PagecacheError, toMessage, type ErrorMessage } from '../errors.ts'
import type { ActiveQuestion, ActiveStage, Batch, BatchAnswer, Outcome, TrackedEvent } from './batch.ts'
import type { SalesChannel } from './sales-channels.ts'

/** What visitors' requests ask of the stages. */
export interface Tracker {
  /** Resolves when the event is durable. Throws STORE_BUSY, STORE_FULL and whatever else stops the records. */
  track(event: TrackedEvent): Promise<Outcome>
  findActive(question: ActiveQuestion): Promise<ActiveStage[]>
  /** Writes what was taken up, then ends. */
  close(): Promise<void>
}

interface Waiting<Asked, Answer> {
  asked: Asked
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** Events that wait beyond this are refused: a disk that hangs must not fill the memory. */
const mostWaiting = 10_000
/** One transaction takes at most so many, so that nobody's answer waits for thousands of others. */
const mostAtOnce = 512
/**
 * A group goes so long after the one before it (milliseconds), or as soon as it has so many events: what a group costs, whatever its size, is
 * taken from the visitors of pages, and nobody waits for the answer to an event.
 */
const gathering = 4
const enough = 64

/** Beside this file as source, and under its own name in dist/, where this file is in a chunk. */
const program = import.meta.url.endsWith('.ts') ? './tracker-main.ts' : '../stages/tracker-main.js'

export interface TrackerOptions {
  /** Of the records. */
  directory: string
  channels: readonly SalesChannel[]
}

/**
 * Opens the tracker: events go to a thread in groups. While it writes one group the next gathers, so that the slower the disk, the
 * larger the groups (docs/decisions/0030-events-in-a-thread.md). The thread is started by the first request.
 */
export function openTracker(options: TrackerOptions): Tracker {
  return new ThreadTracker(options)
}

class ThreadTracker implements Tracker {
  readonly #options: TrackerOptions
  readonly #events: Waiting<TrackedEvent, Outcome>[] = []
  readonly #questions: Waiting<ActiveQuestion, ActiveStage[]>[] = []
  #thread: Thread | null = null
  #closing: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #sentAt = -Infinity

  constructor(options: TrackerOptions) {
    this.#options = options
  }

  track(event: TrackedEvent): Promise<Outcome> {
    return this.#ask(this.#events, event)
  }

  findActive(question: ActiveQuestion): Promise<ActiveStage[]> {
    return this.#ask(this.#questions, question)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#drain())
  }

  #ask<Asked, Answer>(waiting: Waiting<Asked, Answer>[], asked: Asked): Promise<Answer> {
    if (this.#closing !== null || waiting.length >= mostWaiting) {
      return Promise.reject(
        new PagecacheError(
          'STORE_BUSY',
          this.#closing === null ? 'Events come faster than they can be written' : 'The tracker is closed',
        ),
      )
    }
    return new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      this.#schedule()
    })
  }

  get #hasWork(): boolean {
    return this.#thread?.busy !== true && this.#events.length + this.#questions.length > 0
  }

  /** Something waits, or the thread has time. */
  #schedule(): void {
    if (!this.#hasWork) return
    const rest =
      this.#questions.length > 0 || this.#events.length >= enough ? 0 : this.#sentAt + gathering - performance.now()
    if (rest > 0) this.#timer ??= setTimeout(this.#flush, rest)
    // What came with the same turn of the event loop goes together.
    else this.#immediate ??= setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
    this.#timer = this.#immediate = undefined
    if (!this.#hasWork) return
    this.#thread ??= startThread(
      this.#options,
      (gone) => void (this.#thread = this.#thread === gone ? null : this.#thread),
    )
    this.#sentAt = performance.now()
    const [writing, asking] = [this.#events.splice(0, mostAtOnce), this.#questions.splice(0, mostAtOnce)]
    this.#thread.work({ events: writing.map(({ asked }) => asked), questions: asking.map(({ asked }) => asked) }).then(
      ({ outcomes, active }) => {
        for (const [index, { resolve }] of writing.entries()) resolve(outcomes[index]!)
        for (const [index, { resolve }] of asking.entries()) resolve(active[index]!)
        this.#schedule()
      },
      (error: unknown) => {
        for (const { reject } of [...writing, ...asking]) reject(error)
        this.#schedule()
      },
    )
  }

  async #drain(): Promise<void> {
    for (this.#flush(); this.#thread?.busy === true; this.#flush()) await this.#thread.idle()
    await this.#thread?.end()
  }
}

interface Thread {
  busy: boolean
  work(batch: Batch): Promise<BatchAnswer>
  /** Resolves when the batch in hand, if any, is answered. */
  idle(): Promise<void>
  end(): Promise<void>
}

function startThread(workerData: TrackerOptions, onGone: (thread: Thread) => void): Thread {
  const worker = new Worker(new URL(program, import.meta.url), { workerData })
  let answered = (_answer: BatchAnswer | { error: ErrorMessage }) => {}
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  let inHand: Promise<unknown> = Promise.resolve()
  worker.on('message', (answer: BatchAnswer | { error: ErrorMessage }) => answered(answer))

  const thread: Thread = {
    busy: false,
    work(batch) {
      thread.busy = true
      worker.ref()
      const answer = new Promise<BatchAnswer>((resolve, reject) => {
        answered = (message) => {
          thread.busy = false
          // A thread that waits keeps no process alive.
          worker.unref()
          if ('error' in message) reject(fromMessage(message.error))
          else resolve(message)
        }
        worker.postMessage(batch)
      })
      inHand = answer.catch(() => {})
      return answer
    },
    idle: async () => void (await inHand),
    async end() {
      worker.ref()
      worker.postMessage(null)
      await gone
    },
  }
  // What a thread that broke had in hand is refused; the next batch starts another.
  const fail = (error: unknown) => {
    onGone(thread)
    answered({ error: toMessage(error) })
  }
  worker.once('error', fail)
  worker.once('exit', () => fail(new Error('the thread that writes events has ended')))
  return thread
}
