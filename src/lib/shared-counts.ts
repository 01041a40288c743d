/** Increments of named counters: name, key, amount. */
export type Counted = [name: string, key: string, count: number][]

/** The most keys with unsent counts; more are sent at once, to keep messages small. */
const mostTold = 1000

/**
 * Counters shared by several processes, so that a limit applies to the whole daemon: each process sends its own counts and
 * adds those of the others. Counting never waits, so other processes lag behind until counts are sent.
 */
export class SharedCounts {
  readonly #tell: (counted: Counted) => void
  readonly #heard = new Map<string, (key: string, count: number) => void>()
  readonly #untold = new Map<string, Map<string, number>>()
  #size = 0
  #timer: NodeJS.Timeout | null = null

  /** @param tell sends the counts of this process to the others */
  constructor(tell: (counted: Counted) => void) {
    this.#tell = tell
  }

  /**
   * Joins a counter. `heard` receives the counts of other processes; the returned function counts here. The last caller
   * with a name receives its counts.
   *
   * @param delay milliseconds until counts are sent, together with all others
   */
  join(name: string, delay: number, heard: (key: string, count: number) => void): (key: string) => void {
    this.#heard.set(name, heard)
    return (key) => {
      const counts = this.#countsOf(name)
      const before = counts.get(key)
      counts.set(key, (before ?? 0) + 1)
      if (before === undefined) this.#size += 1
      if (delay === 0 || this.#size >= mostTold) this.#flush()
      else this.#timer ??= setTimeout(() => this.#flush(), delay)
    }
  }

  /** Adds the counts of another process. */
  hear(counted: Counted): void {
    for (const [name, key, count] of counted) this.#heard.get(name)?.(key, count)
  }

  #countsOf(name: string): Map<string, number> {
    const known = this.#untold.get(name)
    if (known !== undefined) return known
    const counts = new Map<string, number>()
    this.#untold.set(name, counts)
    return counts
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const counted = [...this.#untold].flatMap(([name, counts]) =>
      [...counts].map(([key, count]): Counted[number] => [name, key, count]),
    )
    this.#untold.clear()
    this.#size = 0
    this.#tell(counted)
  }
}
