/** A worker that has said nothing for so long, as seen by one that watched all the time, is taken for dead (milliseconds). */
const silentFor = 15_000

/**
 * Which workers stand still. Each watcher counts for itself from what it has seen, in its own monotonic
 * milliseconds: clocks of other processes and the wall's have no say in it.
 */
export class Silence {
  readonly #seen = new Map<string, { beat: number; since: number }>()

  /** Looks at the workers' beats; those that have been silent for too long. */
  observe(workers: readonly { id: string; beat: number }[], now: number): string[] {
    const ids = new Set(workers.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    return workers
      .filter(({ id, beat }) => {
        const seen = this.#seen.get(id)
        if (seen?.beat === beat) return now - seen.since >= silentFor
        this.#seen.set(id, { beat, since: now })
        return false
      })
      .map(({ id }) => id)
  }

  /** Starts to count again: the watcher itself was stopped or could not write, and then the others may not have been able to either. */
  forget(): void {
    this.#seen.clear()
  }
}
