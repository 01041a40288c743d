import { Worker } from 'node:worker_threads'
import { fromMessage, PagecacheError, toMessage, type ErrorMessage } from '../errors.ts'
import type { ActiveStage, Batch, BatchResult, StageQuery, TrackOutcome, TrackedEvent } from './batch.ts'
import { withYoungGeneration } from '../lib/young-generation.ts'
import type { RecordsPlace } from '../records/records.ts'
import type { SalesChannel } from './sales-channels.ts'

/** Records events and finds the stages to show, for visitors' requests. */
export interface Tracker {
  /** Resolves once the event is durable. Throws STORE_BUSY, STORE_FULL and other errors of the records. */
  track(event: TrackedEvent): Promise<TrackOutcome>
  findActive(query: StageQuery): Promise<ActiveStage[]>
  /** Writes pending events, then ends the thread. */
  close(): Promise<void>
}

interface PendingCall<Input, Result> {
  input: Input
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Pending events beyond this are rejected: a hanging disk must not fill the memory. */
const maxPending = 10_000
/** Maximum events per transaction, so that no response waits for thousands of other events. */
const maxBatchSize = 512
/**
 * A batch is sent this long after the previous one (milliseconds), or as soon as it has this many events. Every batch costs time that
 * page requests need, and no visitor waits for the response to an event.
 */
const batchInterval = 4
const fullBatch = 64

/** Half of the thread's young generation, in MB. */
const youngGeneration = 1

/** In dist/, this file is part of a chunk, but the thread's entry point keeps its own path. */
const program = import.meta.url.endsWith('.ts') ? './tracker-main.ts' : '../stages/tracker-main.js'

export interface TrackerOptions extends RecordsPlace {
  channels: readonly SalesChannel[]
  /** Why the records are unusable, null if they are usable. */
  recordsFault?: () => PagecacheError | null
}

/**
 * Opens the tracker. Events go to a thread in batches: the next batch fills while one is written, so that a slower disk gets larger
 * batches (docs/decisions/0030-events-in-a-thread.md). The thread starts with the first request.
 */
export function openTracker(options: TrackerOptions): Tracker {
  return new ThreadTracker(options)
}

class ThreadTracker implements Tracker {
  readonly #options: TrackerOptions
  readonly #events: PendingCall<TrackedEvent, TrackOutcome>[] = []
  readonly #queries: PendingCall<StageQuery, ActiveStage[]>[] = []
  #thread: Thread | null = null
  #closing: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #sentAt = -Infinity

  constructor(options: TrackerOptions) {
    this.#options = options
  }

  track(event: TrackedEvent): Promise<TrackOutcome> {
    return this.#enqueue(this.#events, event)
  }

  findActive(query: StageQuery): Promise<ActiveStage[]> {
    return this.#enqueue(this.#queries, query)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#drain())
  }

  #enqueue<Input, Result>(pending: PendingCall<Input, Result>[], input: Input): Promise<Result> {
    if (this.#closing !== null || pending.length >= maxPending) {
      return Promise.reject(
        new PagecacheError(
          'STORE_BUSY',
          this.#closing === null ? 'Events arrive faster than they can be written.' : 'The event tracker is closed.',
        ),
      )
    }
    const fault = this.#options.recordsFault?.() ?? null
    if (fault !== null) return Promise.reject(fault)
    return new Promise((resolve, reject) => {
      pending.push({ input, resolve, reject })
      this.#schedule()
    })
  }

  get #hasWork(): boolean {
    return this.#thread?.busy !== true && this.#events.length + this.#queries.length > 0
  }

  /** Schedules the next batch, if something is pending and the thread is idle. */
  #schedule(): void {
    if (!this.#hasWork) return
    const rest =
      this.#queries.length > 0 || this.#events.length >= fullBatch
        ? 0
        : this.#sentAt + batchInterval - performance.now()
    if (rest > 0) this.#timer ??= setTimeout(this.#flush, rest)
    // Requests of the same turn of the event loop go into one batch.
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
    const [writing, lookingUp] = [this.#events.splice(0, maxBatchSize), this.#queries.splice(0, maxBatchSize)]
    this.#thread.work({ events: writing.map(({ input }) => input), queries: lookingUp.map(({ input }) => input) }).then(
      ({ outcomes, active }) => {
        for (const [index, { resolve }] of writing.entries()) resolve(outcomes[index]!)
        for (const [index, { resolve }] of lookingUp.entries()) resolve(active[index]!)
        this.#schedule()
      },
      (error: unknown) => {
        for (const { reject } of [...writing, ...lookingUp]) reject(error)
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
  work(batch: Batch): Promise<BatchResult>
  /** Resolves when the current batch, if any, has been answered. */
  idle(): Promise<void>
  end(): Promise<void>
}

function startThread({ directory, postgres, channels }: TrackerOptions, onGone: (thread: Thread) => void): Thread {
  const workerData = { place: { directory, postgres }, channels }
  const worker = withYoungGeneration(
    youngGeneration,
    (resourceLimits) => new Worker(new URL(program, import.meta.url), { workerData, resourceLimits }),
  )
  let onMessage = (_message: BatchResult | { error: ErrorMessage }) => {}
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  let current: Promise<unknown> = Promise.resolve()
  worker.on('message', (message: BatchResult | { error: ErrorMessage }) => onMessage(message))

  const thread: Thread = {
    busy: false,
    work(batch) {
      thread.busy = true
      worker.ref()
      const result = new Promise<BatchResult>((resolve, reject) => {
        onMessage = (message) => {
          thread.busy = false
          // An idle thread must not keep the process alive.
          worker.unref()
          if ('error' in message) reject(fromMessage(message.error))
          else resolve(message)
        }
        worker.postMessage(batch)
      })
      current = result.catch(() => {})
      return result
    },
    idle: async () => void (await current),
    async end() {
      worker.ref()
      worker.postMessage(null)
      await gone
    },
  }
  // The current batch of a crashed thread is rejected; the next batch starts a new thread.
  const fail = (error: unknown) => {
    onGone(thread)
    onMessage({ error: toMessage(error) })
  }
  worker.once('error', fail)
  worker.once('exit', () => fail(new Error('The thread that writes events has ended.')))
  return thread
}
