import { PagecacheError } from '../../errors.ts'
import type { Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import type { RetryRules } from './attempt.ts'
import { claimBatch, closeBatch } from './claim.ts'
import { writeLive } from './live.ts'
import type { LiveRecorder, Vitals } from './live-recorder.ts'
import { batchOf } from './messages.ts'
import type { BatchTask, OpenBatch } from './open-batch.ts'
import { savePace } from './origin-pace.ts'
import type { PaceRules } from './pace.ts'
import type { Pacer } from './pacer.ts'
import { startRate, updateRate, type Rate, type WarmupProgress } from './progress.ts'
import type { RunToWork } from './runs.ts'
import { saveProgress } from './save-progress.ts'
import { SaveLoop } from './save-loop.ts'
import type { Timing } from '../../lib/timing.ts'
import { warm, type UrlOutcome, type WarmOptions } from './warm.ts'

export interface WorkOriginOptions extends Pick<WarmOptions<BatchTask>, 'fetchPage' | 'passes' | 'timing' | 'random'> {
  records: Records
  work: Work
  run: RunToWork
  origin: string
  rules: PaceRules & RetryRules
  pacer: Pacer
  recorder: LiveRecorder
  vitals: Vitals
  /** Identifies this process in the live figures. */
  worker: string
}

/**
 * Processes the batches of one run at one origin until none are left, the run is no longer running, or the worker stops. Progress is
 * saved about four times a second. Unfinished batches are released, or dropped if the run is no longer running: a resumed run gets
 * new messages.
 *
 * @param first the claimed message of the first batch
 * @returns a claimed message of another run that the queue handed out; null if there was none
 * @throws if progress cannot be saved, or for a bug; progress made until then is saved if possible
 */
export async function workOrigin(options: WorkOriginOptions, first: Message): Promise<Message | null> {
  return new OriginWorker(options, first).run()
}

class OriginWorker {
  readonly #options: WorkOriginOptions
  readonly #timing: Timing
  readonly #open = new Map<number, OpenBatch>()
  /** Aborted to stop taking URLs: the run was paused, or an error occurred. */
  readonly #drain = new AbortController()
  /** Aborts requests in flight: the run was cancelled, or another worker holds the batches. */
  readonly #abort = new AbortController()
  readonly #stop: AbortSignal
  readonly #saves: SaveLoop
  #first: Message | null
  #batch: OpenBatch | null = null
  #otherRun: Message | null = null
  #status: WarmupProgress['status'] = 'running'
  /** Finished but unsaved URLs that would be fetched again after a crash. */
  #unsaved = 0
  #rate: Rate

  constructor(options: WorkOriginOptions, first: Message) {
    this.#options = options
    this.#timing = options.timing
    this.#first = first
    this.#stop = AbortSignal.any([options.work.stop, options.work.lost, this.#drain.signal])
    this.#saves = new SaveLoop(options.timing, () => this.#retryWhileBusy(() => this.#save()))
    const { processed_urls, failed_urls } = options.run.progress
    this.#rate = startRate(processed_urls + failed_urls, this.#timing.now())
  }

  async run(): Promise<Message | null> {
    const { work, recorder, origin, pacer } = this.#options
    const abort = () => this.#abort.abort()
    work.lost.addEventListener('abort', abort)
    const observer = recorder.observe(origin, pacer)
    // Settled at once, because it may reject long before it is awaited.
    const saving = Promise.allSettled([this.#saves.run().finally(() => this.#drain.abort())])
    const warming = await Promise.allSettled([this.#warm(observer)])
    this.#saves.end()
    const saved = await saving
    recorder.leave(origin)
    work.lost.removeEventListener('abort', abort)
    if (!work.lost.aborted) await this.#retryWhileBusy(() => this.#save())
    const failed = [...warming, ...saved].find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
    // The queue completes the message of a handler that returns, so a lost message has to throw.
    if (work.lost.aborted) throw new PagecacheError('LEASE_LOST', 'Another worker holds the batch now.')
    await this.#releaseBatches()
    return this.#otherRun
  }

  async #warm(observer: WarmOptions<BatchTask>['observer']): Promise<void> {
    const { fetchPage, passes, run, random, rules, pacer } = this.#options
    try {
      await warm<BatchTask>({
        next: () => this.#next(),
        onDone: (task, outcome) => this.#onDone(task, outcome),
        gate: () => this.#gate(),
        observer,
        fetchPage,
        passes,
        force: run.force,
        rules,
        pacer,
        stop: this.#stop,
        abort: this.#abort.signal,
        timing: this.#timing,
        random,
      })
    } finally {
      this.#drain.abort()
    }
  }

  async #next(): Promise<BatchTask | null> {
    for (;;) {
      const task = this.#batch?.take() ?? null
      if (task || this.#otherRun) return task
      const message: Message | null = this.#first ?? (await this.#options.work.take())
      this.#first = null
      if (message === null) return null
      if (batchOf(message).run === this.#options.run.id)
        this.#batch = await this.#retryWhileBusy(() => this.#claim(message))
      else this.#otherRun = message
    }
  }

  async #claim(message: Message): Promise<OpenBatch | null> {
    const { records, work, run } = this.#options
    // A run that was paused and resumed quickly has a second message for a batch that is open here.
    if (this.#open.has(batchOf(message).batch)) {
      await work.complete(message)
      return null
    }
    const claimed = await claimBatch(records, work, message)
    if (claimed.kind === 'finished') return null
    if (claimed.kind === 'poison') {
      await saveProgress(records, work, {
        runId: run.id,
        urlsPerSecond: this.#rate.perSecond,
        changes: [claimed.change],
      })
      return null
    }
    this.#open.set(claimed.batch.number, claimed.batch)
    return claimed.batch
  }

  #onDone({ batch, index, url }: BatchTask, outcome: UrlOutcome): void {
    batch.finish(index, outcome)
    this.#options.recorder.done(url, outcome.kind === 'failed' ? outcome.failures : [])
    // After a crash, a cached page is found fresh; failures and forced fetches would be repeated.
    if (outcome.kind === 'failed' || this.#options.run.force) this.#unsaved++
  }

  /** Ensures that a crash repeats at most `concurrency` requests, by counting unsaved URLs as requests in flight. */
  #gate(): Promise<void> | null {
    const { pacer } = this.#options
    return this.#unsaved > 0 && pacer.inFlight + this.#unsaved >= pacer.concurrency ? this.#saves.soon() : null
  }

  /** Saves progress made since the last save, and reads the status of the run. */
  async #save(): Promise<void> {
    const { records, work, run, recorder, vitals, worker, origin, pacer } = this.#options
    const batches = [...this.#open.values()].filter((batch) => batch.dirty)
    const parts = batches.map((batch) => batch.change())
    const changes = parts.map((part) => part.change)
    const written = this.#unsaved
    try {
      const urlsPerSecond = this.#rate.perSecond
      const { progress, lost, finished } = await saveProgress(
        records,
        work,
        { runId: run.id, urlsPerSecond, changes },
        async (transaction, now) => {
          await writeLive(transaction, run.id, worker, recorder.snapshot(vitals, this.#timing.now()), now)
          await savePace(transaction, origin, pacer, this.#timing, now)
        },
      )
      this.#unsaved -= written
      for (const number of lost) this.#open.get(number)?.markLost()
      for (const number of [...lost, ...finished]) this.#open.delete(number)
      this.#updateStatus(progress)
    } catch (error) {
      for (const part of parts) part.restore()
      throw error
    }
  }

  #updateStatus(progress: WarmupProgress): void {
    this.#rate = updateRate(this.#rate, progress.processed_urls + progress.failed_urls, this.#timing.now())
    this.#status = progress.status
    this.#options.pacer.concurrency = progress.concurrency ?? this.#options.rules.concurrency
    if (progress.status !== 'running') this.#drain.abort()
    if (progress.status === 'cancelled' || progress.status === 'failed') this.#abort.abort()
  }

  /** Releases unfinished batches for other workers, or completes their messages if the run is no longer running. */
  async #releaseBatches(): Promise<void> {
    const { records, work } = this.#options
    const held = [...[...this.#open.values()].map((batch) => batch.message), ...(this.#first ? [this.#first] : [])]
    for (const message of held) {
      await this.#retryWhileBusy(() => closeBatch(records, work, message))
      if (this.#status === 'running') await this.#retryWhileBusy(() => work.release(message))
      else await this.#retryWhileBusy(() => work.complete(message))
    }
  }

  /** Repeats a call while another process holds the lock of the records for longer than one call waits. */
  async #retryWhileBusy<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof PagecacheError) || error.code !== 'STORE_BUSY' || this.#options.work.stop.aborted)
          throw error
      }
    }
  }
}
