import type { Membership } from './queue.ts'

/** Milliseconds between a change and the next check. A check costs about 100 µs with its wake-up: more of them would take 0.5 % of a core. */
const alertInterval = 20
/** Most milliseconds between two checks: no change is missed for longer. */
const quietInterval = 1000

export interface AlertnessOptions {
  watch: Membership['watch']
  /** Monotonic time in milliseconds. */
  now(): number
  /** Called when a quiet worker is told of a change. */
  onAlert(): void
}

/**
 * How often an idle worker checks whether the records have changed. The system tells it of writes. A commit becomes visible only when it is
 * synced, so checks follow a write, ever more rarely: none comes later than twice the time that the commit has taken. While others write
 * all the time, nothing is watched, because being told of each write would cost more than the checks.
 */
export class Alertness {
  readonly #options: AlertnessOptions
  #alertAt: number
  #unwatch: (() => void) | null = null

  constructor(options: AlertnessOptions) {
    this.#options = options
    this.#alertAt = options.now()
  }

  /** Milliseconds until the next check. */
  interval(): number {
    const quietFor = this.#options.now() - this.#alertAt
    if (this.#unwatch === null && quietFor >= alertInterval) this.#watch()
    return this.#unwatch === null ? alertInterval : Math.min(Math.max(alertInterval, quietFor), quietInterval)
  }

  /** To be called when the records have changed. */
  raise(): void {
    this.#alertAt = this.#options.now()
    this.close()
  }

  #watch(): void {
    this.#unwatch = this.#options.watch(() => {
      if (this.#unwatch === null) return
      this.raise()
      this.#options.onAlert()
    })
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = null
  }
}
