/** A worker without a heartbeat for this long is considered dead by a worker that watched all the time (milliseconds). */
const deadAfter = 15_000

/** Detects workers without heartbeats. Each watcher measures with its own monotonic clock; no wall clock and no other process's clock is used. */
export class SilenceDetector {
  readonly #seen = new Map<string, { beat: number; since: number }>()

  /** Records the workers' heartbeats; returns the ids of those that have been silent for too long. `now` in milliseconds. */
  observe(workers: readonly { id: string; beat: number }[], now: number): string[] {
    const ids = new Set(workers.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    return workers
      .filter(({ id, beat }) => {
        const seen = this.#seen.get(id)
        if (seen?.beat === beat) return now - seen.since >= deadAfter
        this.#seen.set(id, { beat, since: now })
        return false
      })
      .map(({ id }) => id)
  }

  /** Starts over, after the watcher was suspended or could not write: the other workers may not have been able to either. */
  forget(): void {
    this.#seen.clear()
  }
}
