import { Worker } from 'node:worker_threads'
import { PagecacheError } from '../errors.ts'
import type { ActiveQuestion, ActiveStage, Batch, BatchAnswer, Outcome, TrackedEvent } from './batch.ts'
import type { SalesChannel } from './sales-channels.ts'
import { fromMessage, toMessage, type ErrorMessage } from './thread-error.ts'

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

/** Beside this file as source, and under its own name in dist/, where this file is in a chunk. */
const program = import.meta.url.endsWith('.ts') ? './tracker-main.ts' : '../stages/tracker-main.js'

/**
 * Opens the tracker: events go to a thread in groups. While it writes one group the next gathers, so that the slower the disk, the
 * larger the groups (docs/decisions/0030-events-in-a-thread.md). The thread is started by the first request.
 */
export function openTracker(options: { directory: string; channels: readonly SalesChannel[] }): Tracker {
  let thread: Thread | null = null
  let closing: Promise<void> | null = null
  const events: Waiting<TrackedEvent, Outcome>[] = []
  const questions: Waiting<ActiveQuestion, ActiveStage[]>[] = []
  let scheduled = false

  function ask<Asked, Answer>(waiting: Waiting<Asked, Answer>[], asked: Asked): Promise<Answer> {
    if (closing !== null || waiting.length >= mostWaiting) {
      return Promise.reject(new PagecacheError('STORE_BUSY', closing === null ? 'Events come faster than they can be written' : 'The tracker is closed'))
    }
    return new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      schedule()
    })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    // What came with the same turn of the event loop goes together.
    setImmediate(() => {
      scheduled = false
      flush()
    })
  }

  function flush(): void {
    if (events.length + questions.length === 0) return
    thread ??= startThread(options, (gone) => void (thread = thread === gone ? null : thread))
    if (thread.busy) return
    const [writing, asking] = [events.splice(0, mostAtOnce), questions.splice(0, mostAtOnce)]
    thread.work({ events: writing.map(({ asked }) => asked), questions: asking.map(({ asked }) => asked) }).then(
      ({ outcomes, active }) => {
        for (const [index, { resolve }] of writing.entries()) resolve(outcomes[index]!)
        for (const [index, { resolve }] of asking.entries()) resolve(active[index]!)
        // Whoever was answered may have more: one look at the network makes the next group larger.
        setImmediate(schedule)
      },
      (error: unknown) => {
        for (const { reject } of [...writing, ...asking]) reject(error)
        flush()
      },
    )
  }

  async function drain(): Promise<void> {
    for (flush(); thread?.busy === true; flush()) await thread.idle()
    await thread?.end()
  }

  return {
    track: (event) => ask(events, event),
    findActive: (question) => ask(questions, question),
    close: () => (closing ??= drain()),
  }
}

interface Thread {
  busy: boolean
  work(batch: Batch): Promise<BatchAnswer>
  /** Resolves when the batch in hand, if any, is answered. */
  idle(): Promise<void>
  end(): Promise<void>
}

function startThread(workerData: { directory: string; channels: readonly SalesChannel[] }, onGone: (thread: Thread) => void): Thread {
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
