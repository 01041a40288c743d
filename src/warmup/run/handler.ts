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
  /** What an origin is asked for at most. @param crawlDelays milliseconds, by sales channel */
  rulesFor(origin: string, crawlDelays: Readonly<Record<string, number>>): PaceRules & RetryRules
  vitals: Vitals
  /** Names this process among those that work on a run. */
  worker: string
}

/** Origins that one process asks at once; each has its own limits. */
const originsAtOnce = 16
/** The records may be full or locked for minutes; a bug is one after this too. */
const tries = 10
const longestBackoff = 30_000

/** What works warmups: it takes the batches of one origin, one after the other, for as long as there are any. */
export function warmupHandler(options: WarmupWorkerOptions): Handler {
  const worker = new WarmupWorker(options)
  return {
    type: batchType,
    concurrency: originsAtOnce,
    tries,
    backoff: (attempts) => Math.min(longestBackoff, 1000 * 2 ** (attempts - 1)),
    handle: (work) => worker.handle(work),
  }
}

class WarmupWorker {
  readonly #options: WarmupWorkerOptions
  /** What this process has to tell of each run: one for all its origins. */
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

  /** Works the run of a message; returns the next one to be worked, which is of another run. */
  async #next(work: Work, message: Message): Promise<Message | null> {
    const { records } = this.#options
    const run = await readRun(records, batchOf(message).run)
    if (run?.progress.status !== 'running') {
      // It gets new messages when it is resumed.
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
          `It could not be worked on: ${error instanceof Error ? error.message : String(error)}`,
        )
      throw error
    }
  }

  async #workRun(work: Work, message: Message, run: RunToWork): Promise<Message | null> {
    const { records, fetchPage, passes, timing, random, vitals, worker } = this.#options
    const origin = originOf(message)
    const rules = this.#options.rulesFor(origin, run.discovery.crawlDelays)
    const pacer = await openPacer(records, origin, rules, timing)
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

  /** Kept for a while: the same run comes back with its next origin, or after a pause. */
  #leave(runId: string): void {
    this.#recorders.get(runId)!.users--
    const idle = [...this.#recorders].filter(([, { users }]) => users === 0)
    for (const [id] of idle.slice(0, -recordersKept)) this.#recorders.delete(id)
  }
}

/** Runs that nobody works on here at the moment and whose figures are kept. */
const recordersKept = 4
