import type { Handler, Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import type { RetryRules } from './attempt.ts'
import { LiveRecorder, type Vitals } from './live-recorder.ts'
import { batchOf, batchType, originOf } from './messages.ts'
import { failRun } from './moves.ts'
import { openPacer } from './origin-pace.ts'
import type { PaceRules } from './pace.ts'
import { readRun, type RunToWork } from './runs.ts'
import { workOrigin, type WorkOriginOptions } from './work-origin.ts'

export interface WarmupWorkerOptions extends Pick<WorkOriginOptions, 'fetchPage' | 'passes' | 'timing' | 'random'> {
  records: Records
  /** The limits of an origin. @param crawlDelays milliseconds, by sales channel id */
  rulesFor(origin: string, crawlDelays: Readonly<Record<string, number>>): PaceRules & RetryRules
  vitals: Vitals
  /** Identifies this process among the workers of a run. */
  worker: string
}

/** Origins that one process works on concurrently; each has its own limits. */
const originsAtOnce = 16
/** Attempts before a run fails: the records may be full or locked for minutes, and a bug persists anyway. */
const tries = 10
const maxBackoff = 30_000

/** The queue handler of warmup batches. It processes the batches of one origin one after the other until none are left. */
export function warmupHandler(options: WarmupWorkerOptions): Handler {
  const worker = new WarmupWorker(options)
  return {
    type: batchType,
    concurrency: originsAtOnce,
    tries,
    backoff: (attempts) => Math.min(maxBackoff, 1000 * 2 ** (attempts - 1)),
    handle: (work) => worker.handle(work),
  }
}

class WarmupWorker {
  readonly #options: WarmupWorkerOptions
  /** Live figures of this process by run id; the origins of a run share a recorder. */
  readonly #recorders = new Map<string, { recorder: LiveRecorder; users: number }>()

  constructor(options: WarmupWorkerOptions) {
    this.#options = options
  }

  async handle(work: Work): Promise<void> {
    for (let message: Message | null = work.message; message && !work.lost.aborted;) {
      if (work.stop.aborted && message !== work.message) return work.release(message)
      message = await this.#next(work, message)
    }
  }

  /** Processes the run of a message. Returns a claimed message of another run; null if there is none. */
  async #next(work: Work, message: Message): Promise<Message | null> {
    const { records } = this.#options
    const run = await readRun(records, batchOf(message).run)
    if (run?.progress.status !== 'running') {
      // A resumed run gets new messages.
      await work.complete(message)
      return work.take()
    }
    try {
      return await this.#workRun(work, message, run)
    } catch (error) {
      if (message.attempts + 1 >= tries)
        await failRun(
          records,
          run.id,
          `Processing the warmup failed: ${error instanceof Error ? error.message : String(error)}`,
        )
      throw error
    }
  }

  async #workRun(work: Work, message: Message, run: RunToWork): Promise<Message | null> {
    const { records, fetchPage, passes, timing, random, vitals, worker } = this.#options
    const origin = originOf(message)
    const rules = this.#options.rulesFor(origin, run.discovery.crawlDelays)
    const concurrency = run.progress.concurrency ?? rules.concurrency
    const pacer = await openPacer(records, origin, { ...rules, concurrency }, timing)
    const recorder = this.#recorder(run.id)
    try {
      return await workOrigin(
        { records, work, run, origin, rules, pacer, recorder, fetchPage, passes, timing, random, vitals, worker },
        message,
      )
    } finally {
      this.#leave(run.id)
    }
  }

  #recorder(runId: string): LiveRecorder {
    let known = this.#recorders.get(runId)
    if (!known)
      this.#recorders.set(runId, (known = { recorder: new LiveRecorder(this.#options.records.now), users: 0 }))
    known.users++
    return known.recorder
  }

  /** Keeps some idle recorders: a run returns with its next origin, or after a pause. */
  #leave(runId: string): void {
    this.#recorders.get(runId)!.users--
    const idle = [...this.#recorders].filter(([, { users }]) => users === 0)
    for (const [id] of idle.slice(0, -maxIdleRecorders)) this.#recorders.delete(id)
  }
}

/** Idle runs whose live figures are kept in memory. */
const maxIdleRecorders = 4
