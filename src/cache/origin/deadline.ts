import { SteadyMap } from '../../lib/steady-map.ts'

/**
 * A time-out that is moved with each request. Moving it costs a comparison: its timer is set anew only when it would be
 * too late, and when it was too early.
 */
export class Deadline {
  readonly #onDue: () => void
  #due = Infinity
  #armed = Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  /** @param at in terms of `performance.now`; Infinity for none */
  set(at: number): void {
    this.#due = at
    if (at < this.#armed) this.#arm(performance.now())
  }

  clear(): void {
    this.#due = Infinity
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#due = Infinity
    this.#armed = Infinity
  }

  #arm(now: number): void {
    clearTimeout(this.#timer)
    this.#armed = this.#due
    if (this.#due === Infinity) return
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(this.#due - now))).unref()
  }

  #check(): void {
    const now = performance.now()
    this.#armed = Infinity
    if (now < this.#due) return this.#arm(now)
    this.#due = Infinity
    this.#onDue()
  }
}

/** Items that expire after the same time, in the order in which they were added, with one timer for all of them. */
export class Expiring<Item> {
  readonly #ms: number
  readonly #onExpired: (item: Item) => void
  readonly #due = new SteadyMap<Item, number>()
  readonly #deadline = new Deadline(() => this.#expire())

  constructor(ms: number, onExpired: (item: Item) => void) {
    this.#ms = ms
    this.#onExpired = onExpired
  }

  get size(): number {
    return this.#due.size
  }

  add(item: Item): void {
    const due = performance.now() + this.#ms
    if (this.#due.size === 0) this.#deadline.set(due)
    this.#due.set(item, due)
  }

  delete(item: Item): boolean {
    return this.#due.delete(item)
  }

  /** The item that was added first. */
  first(): Item | undefined {
    return this.#due.entries().next().value?.[0]
  }

  close(): void {
    this.#due.clear()
    this.#deadline.close()
  }

  #expire(): void {
    const now = performance.now()
    for (const [item, due] of this.#due.entries()) {
      if (due > now) return this.#deadline.set(due)
      this.#due.delete(item)
      this.#onExpired(item)
    }
  }
}
