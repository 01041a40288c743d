import type { Timing } from '../../lib/timing.ts'
import type { WarmupStatus } from '../../records/schema.ts'

export interface WaitForRunOptions<Progress extends { status: WarmupStatus }> {
  /** Null if the run does not exist (any more). */
  readProgress(): Promise<Progress | null>
  pause(): Promise<unknown>
  /** Null if the run belongs to a daemon on another machine. */
  standby: StandbyOptions | null
  /** Aborted: stop waiting. */
  stop: AbortSignal
  timing: Timing
  onProgress(progress: Progress): void
}

export interface StandbyOptions {
  hasOtherWorkers(): Promise<boolean>
  /** Processes warmup batches in this process until `stop` is aborted. */
  work(stop: AbortSignal): Promise<unknown>
}

const pollEvery = 250
/** Milliseconds between two checks for other workers. */
const checkWorkersEvery = 1000

/**
 * Waits until a run has ended, and processes its batches in this process while no other worker does. If `stop` is aborted, a
 * run that only this process works on is paused; other workers continue with theirs.
 */
export async function waitForRun<Progress extends { status: WarmupStatus }>(
  options: WaitForRunOptions<Progress>,
): Promise<void> {
  const { readProgress, pause, stop, timing, onProgress } = options
  const standby = options.standby && new StandbyWorker(options.standby, stop, timing)
  try {
    for (;;) {
      const progress = await readProgress()
      if (progress === null || (progress.status !== 'running' && progress.status !== 'paused')) break
      onProgress(progress)
      if (stop.aborted) break
      await standby?.check()
      await timing.sleep(pollEvery, stop)
    }
  } finally {
    await standby?.end()
  }
  if (stop.aborted && standby?.isOnlyWorker && (await readProgress())?.status === 'running') await pause()
}

/** Works in this process while no other process does. */
class StandbyWorker {
  readonly #options: StandbyOptions
  readonly #timing: Timing
  readonly #ended = new AbortController()
  readonly #stop: AbortSignal
  #working: Promise<void> | null = null
  #failure: { error: unknown } | null = null
  #checkedAt = -Infinity
  #isOnlyWorker = false

  constructor(options: StandbyOptions, stop: AbortSignal, timing: Timing) {
    this.#options = options
    this.#timing = timing
    this.#stop = AbortSignal.any([stop, this.#ended.signal])
  }

  /** Whether this process works and no other did at the last check. */
  get isOnlyWorker(): boolean {
    return this.#isOnlyWorker
  }

  /** Starts working if no other process does. @throws what stopped the work */
  async check(): Promise<void> {
    const now = this.#timing.now()
    if (now - this.#checkedAt < checkWorkersEvery) return
    this.#checkedAt = now
    this.#isOnlyWorker = !(await this.#options.hasOtherWorkers())
    if (this.#failure) throw this.#failure.error
    if (!this.#isOnlyWorker || this.#working !== null) return
    this.#working = this.#options
      .work(this.#stop)
      .then(() => {})
      .catch((error: unknown) => void (this.#failure = { error }))
      .finally(() => void (this.#working = null))
  }

  /** Finishes the message in hand. */
  async end(): Promise<void> {
    this.#ended.abort()
    const working = this.#working
    await working
    if (working === null) this.#isOnlyWorker = false
  }
}
