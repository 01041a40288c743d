import { randomUUID } from 'node:crypto'
import { PagecacheError } from '../errors.ts'
import type { Records } from '../records/open.ts'
import type { RetryRules } from './attempt.ts'
import { OpenBatch, type BatchTask } from './open-batch.ts'
import type { PaceRules } from './pace.ts'
import { startRate, updateRate, type Rate, type WarmupProgress } from './progress.ts'
import { claimBatch, readProgress } from './runs.ts'
import { saveProgress } from './save-progress.ts'
import type { Timing } from './timing.ts'
import { warm, type WarmOptions } from './warm.ts'

export interface WorkRunOptions extends Pick<WarmOptions<BatchTask>, 'fetchPage' | 'passes' | 'force' | 'stop' | 'abort' | 'timing' | 'random'> {
  records: Records
  runId: string
  /** Channels that share an origin are warmed together: its limits are for all of them. */
  origins: readonly { channelIds: readonly string[]; rules: PaceRules & RetryRules }[]
  /** Told about four times a second, and at the end. */
  onProgress(progress: WarmupProgress): void
}

/** Progress is written this often, which is also how soon a pause from another process is noticed (milliseconds). */
const saveEvery = 250
/** A batch whose worker has said nothing for so long may be taken by another (milliseconds). */
const leaseFor = 60_000

/**
 * Works a run until nothing of it is left to take, it is no longer running, or `stop` is aborted. Batches that
 * are not finished are given back. Several processes may work one run.
 *
 * @throws when records cannot be written, or for a bug; what was done until then is written
 */
export async function workRun(options: WorkRunOptions): Promise<WarmupProgress> {
  return new RunWorker(options).work()
}

class RunWorker {
  readonly #options: WorkRunOptions
  readonly #timing: Timing
  readonly #lease = randomUUID()
  readonly #open = new Set<OpenBatch>()
  /** Ends the taking of URLs from inside: the run was paused, or something broke. */
  readonly #drain = new AbortController()
  readonly #stop: AbortSignal
  #done = 0
  #rate: Rate = startRate(0, 0)

  constructor(options: WorkRunOptions) {
    this.#options = options
    this.#timing = options.timing
    this.#stop = AbortSignal.any([options.stop, this.#drain.signal])
  }

  async work(): Promise<WarmupProgress> {
    this.#learn(await this.#patiently(() => this.#read()))
    this.#rate = startRate(this.#done, this.#timing.now())
    const finished = new AbortController()
    // Settled from the start: it may fail long before anybody waits for it.
    const saving = Promise.allSettled([this.#keepSaving(finished.signal)])
    const warming = await Promise.allSettled(this.#options.origins.map((origin) => this.#warmOrigin(origin)))
    finished.abort()
    const saved = await saving
    const progress = await this.#patiently(() => this.#save(true))
    const fault = [...warming, ...saved].find((result) => result.status === 'rejected')
    if (fault) throw fault.reason
    return progress
  }

  async #warmOrigin({ channelIds, rules }: WorkRunOptions['origins'][number]): Promise<void> {
    const { fetchPage, passes, force, abort, random } = this.#options
    let batch: OpenBatch | null = null
    const next = async (): Promise<BatchTask | null> => {
      for (;;) {
        const task = batch?.take() ?? null
        if (task) return task
        batch = await this.#claim(channelIds)
        if (!batch) return null
      }
    }
    try {
      await warm<BatchTask>({
        next,
        onDone: (task, outcome) => task.batch.finish(task.index, outcome),
        fetchPage,
        passes,
        force,
        rules,
        stop: this.#stop,
        abort,
        timing: this.#timing,
        random,
      })
    } catch (error) {
      this.#drain.abort()
      throw error
    }
  }

  async #claim(channelIds: readonly string[]): Promise<OpenBatch | null> {
    const { records, runId } = this.#options
    const claimed = await this.#patiently(() => claimBatch(records, { runId, channelIds, lease: this.#lease, leaseFor }))
    if (!claimed) return null
    const batch = new OpenBatch(claimed, this.#timing.now())
    this.#open.add(batch)
    return batch
  }

  async #keepSaving(finished: AbortSignal): Promise<void> {
    try {
      while (!finished.aborted) {
        await this.#timing.sleep(saveEvery, finished)
        if (!finished.aborted) await this.#patiently(() => this.#save(false))
      }
    } catch (error) {
      this.#drain.abort()
      throw error
    }
  }

  /** Writes what has changed since the last time, and keeps the leases; with `release` gives the batches back. */
  async #save(release: boolean): Promise<WarmupProgress> {
    const { records, runId, onProgress } = this.#options
    const now = this.#timing.now()
    const batches = [...this.#open].filter((batch) => release || batch.dirty || now - batch.savedAt > leaseFor / 3)
    const parts = batches.map((batch) => batch.change(release))
    const changes = parts.map((part) => part.change)
    try {
      const justDone = changes.reduce((sum, { processed, failed }) => sum + processed + failed, 0)
      this.#rate = updateRate(this.#rate, this.#done + justDone, now)
      const urlsPerSecond = this.#rate.perSecond
      const { progress, lost } =
        changes.length > 0
          ? await saveProgress(records, { runId, lease: this.#lease, leaseFor, urlsPerSecond, changes })
          : { progress: await this.#read(), lost: [] }
      for (const [index, batch] of batches.entries()) this.#saved(batch, changes[index]!.complete, lost.includes(batch.number), now)
      this.#learn(progress)
      if (progress.status !== 'running') this.#drain.abort()
      onProgress(progress)
      return progress
    } catch (error) {
      for (const part of parts) part.restore()
      throw error
    }
  }

  #saved(batch: OpenBatch, complete: boolean, lost: boolean, now: number): void {
    batch.savedAt = now
    if (lost) batch.lose()
    if (lost || complete) this.#open.delete(batch)
  }

  async #read(): Promise<WarmupProgress> {
    return (await readProgress(this.#options.records, this.#options.runId))!
  }

  /** What all workers have done, this one included. */
  #learn(progress: WarmupProgress): void {
    this.#done = progress.processed_urls + progress.failed_urls
  }

  /** Another process may hold the records' lock for longer than one call waits; a warmup has time. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof PagecacheError) || error.code !== 'STORE_BUSY' || this.#stop.aborted) throw error
      }
    }
  }
}
