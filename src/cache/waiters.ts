/** The visitors who wait for a fetch. Once all have left, a fetch that was not sent to the shop need not be sent. */
export class Waiters {
  readonly #present = new Set<AbortSignal>()
  #onDeserted: (() => void) | null = null
  readonly #onLeave = ({ target }: Event) => {
    this.#present.delete(target as AbortSignal)
    if (this.isEmpty) this.#onDeserted?.()
  }

  /** Counts a visitor until the signal of the visit is aborted. */
  add(signal: AbortSignal): void {
    if (signal.aborted) return
    this.#present.add(signal)
    signal.addEventListener('abort', this.#onLeave)
  }

  get isEmpty(): boolean {
    return this.#present.size === 0
  }

  /** Calls back whenever the last one leaves. Others may come after that. */
  watch(onDeserted: () => void): void {
    this.#onDeserted = onDeserted
  }

  /** The fetch is over: what it holds must not stay in memory while its visitors receive their responses. */
  end(): void {
    for (const signal of this.#present) signal.removeEventListener('abort', this.#onLeave)
  }
}
