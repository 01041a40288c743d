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
  /** What this process writes its live figures under. */
  worker: string
}

/**
 * Works the batches of one run at one origin, until there are none left, the run is no longer running, or the work is to
 * stop. What was done is written about four times a second. Batches that are not finished are given back, or dropped
 * where the run is not to go on: it gets new messages when it is resumed.
 *
 * @param first a message that is held already
 * @returns a message of another run that it came upon, still held; null where there was none
 * @throws when records cannot be written, or for a bug; what was done until then is written where it can be
 */
export async function workOrigin(options: WorkOriginOptions, first: Message): Promise<Message | null> {
  return new OriginWorker(options, first).run()
}

class OriginWorker {
  readonly #options: WorkOriginOptions
  readonly #timing: Timing
  readonly #open = new Map<number, OpenBatch>()
  /** Ends the taking of URLs from inside: the run was paused, or something broke. */
  readonly #drain = new AbortController()
  /** Gives up what is under way: the run was cancelled, or the batches are another worker's. */
  readonly #abort = new AbortController()
  readonly #stop: AbortSignal
  readonly #saves: SaveLoop
  #first: Message | null
  #batch: OpenBatch | null = null
  #foreign: Message | null = null
  #status: WarmupProgress['status'] = 'running'
  /** Ended and not written: after a crash now they would be fetched again. */
  #atRisk = 0
  #rate: Rate

  constructor(options: WorkOriginOptions, first: Message) {
    this.#options = options
    this.#timing = options.timing
    this.#first = first
    this.#stop = AbortSignal.any([options.work.stop, options.work.lost, this.#drain.signal])
    this.#saves = new SaveLoop(options.timing, () => this.#patiently(() => this.#save()))
    const { processed_urls, failed_urls } = options.run.progress
    this.#rate = startRate(processed_urls + failed_urls, this.#timing.now())
  }

  async run(): Promise<Message | null> {
    const { work, recorder, origin, rules, pacer } = this.#options
    const giveUp = () => this.#abort.abort()
    work.lost.addEventListener('abort', giveUp)
    const observer = recorder.observe(origin, pacer, rules)
    // Settled from the start: it may fail long before anybody waits for it.
    const saving = Promise.allSettled([this.#saves.run().finally(() => this.#drain.abort())])
    const warming = await Promise.allSettled([this.#warm(observer)])
    this.#saves.end()
    const saved = await saving
    recorder.leave(origin)
    work.lost.removeEventListener('abort', giveUp)
    if (!work.lost.aborted) await this.#patiently(() => this.#save())
    const fault = [...warming, ...saved].find((result) => result.status === 'rejected')
    if (fault) throw fault.reason
    // What returns well is taken for done: what is still ours goes back to others.
    if (work.lost.aborted) throw new PagecacheError('LEASE_LOST', 'Another worker holds the batch now.')
    await this.#giveBack()
    return this.#foreign
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
      if (task || this.#foreign) return task
      const message: Message | null = this.#first ?? (await this.#options.work.take())
      this.#first = null
      if (message === null) return null
      if (batchOf(message).run === this.#options.run.id) this.#batch = await this.#patiently(() => this.#claim(message))
      else this.#foreign = message
    }
  }

  async #claim(message: Message): Promise<OpenBatch | null> {
    const { records, work, run } = this.#options
    // A run that was paused and resumed at once has a second message for what is open here.
    if (this.#open.has(batchOf(message).batch)) {
      await work.complete(message)
      return null
    }
    const claimed = await claimBatch(records, work, message)
    if (claimed.kind === 'finished') return null
    if (claimed.kind === 'poisonous') {
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
    // What is fresh in the cache now is found there after a crash; anything else would be asked for again.
    if (outcome.kind === 'failed' || this.#options.run.force) this.#atRisk++
  }

  /** A crash repeats at most as many pages as may be under way at once: those that are done and would be repeated count too. */
  #gate(): Promise<void> | null {
    const { pacer, rules } = this.#options
    return this.#atRisk > 0 && pacer.underWay + this.#atRisk >= rules.concurrency ? this.#saves.soon() : null
  }

  /** Writes what has changed since the last time, and learns what became of the run. */
  async #save(): Promise<void> {
    const { records, work, run, recorder, vitals, worker, origin, pacer } = this.#options
    const batches = [...this.#open.values()].filter((batch) => batch.dirty)
    const parts = batches.map((batch) => batch.change())
    const changes = parts.map((part) => part.change)
    const written = this.#atRisk
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
      this.#atRisk -= written
      for (const number of lost) this.#open.get(number)?.lose()
      for (const number of [...lost, ...finished]) this.#open.delete(number)
      this.#learn(progress)
    } catch (error) {
      for (const part of parts) part.restore()
      throw error
    }
  }

  #learn(progress: WarmupProgress): void {
    this.#rate = updateRate(this.#rate, progress.processed_urls + progress.failed_urls, this.#timing.now())
    this.#status = progress.status
    if (progress.status !== 'running') this.#drain.abort()
    if (progress.status === 'cancelled' || progress.status === 'failed') this.#abort.abort()
  }

  /** What is not finished: to others, or nowhere where the run is not to go on. */
  async #giveBack(): Promise<void> {
    const { records, work } = this.#options
    const held = [...[...this.#open.values()].map((batch) => batch.message), ...(this.#first ? [this.#first] : [])]
    for (const message of held) {
      await this.#patiently(() => closeBatch(records, work, message))
      if (this.#status === 'running') await this.#patiently(() => work.release(message))
      else await this.#patiently(() => work.complete(message))
    }
  }

  /** Another process may hold the records' lock for longer than one call waits; a warmup has time. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
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
