/**
 * A signal that is aborted after a time, or with another signal. Unlike `AbortSignal.timeout` and `AbortSignal.any` it needs no weak
 * references: the garbage collector of V8's young generation takes what these refer to for alive, so each request of a warmup became old
 * (docs/decisions/0150-what-becomes-old.md). Release it with `end`.
 */
export class TimeLimit {
  readonly #over = new AbortController()
  readonly #outer: AbortSignal
  readonly #timer: NodeJS.Timeout
  #isLate = false

  /** @param ms from now, in milliseconds */
  constructor(ms: number, outer: AbortSignal) {
    this.#outer = outer
    this.#timer = setTimeout(() => {
      this.#isLate = true
      this.#over.abort(new DOMException('The time limit was exceeded', 'TimeoutError'))
    }, ms)
    this.#timer.unref()
    if (outer.aborted) this.#onOuter()
    else outer.addEventListener('abort', this.#onOuter, { once: true })
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Whether the time is over. */
  get isLate(): boolean {
    return this.#isLate
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#onOuter)
  }

  readonly #onOuter = () => this.#over.abort(this.#outer.reason)
}
