/** So many of a key of a count: name, key, number. */
export type Counted = [name: string, key: string, count: number][]

/** Told at once where more than this many keys have been counted, so that no message is large. */
const mostTold = 1000

/**
 * Counts that several processes keep together: each tells what it has counted, and adds what the others tell. Nobody asks and waits:
 * until something is told, the others do not know of it.
 */
export class SharedCounts {
  readonly #tell: (counted: Counted) => void
  readonly #heard = new Map<string, (key: string, count: number) => void>()
  readonly #untold = new Map<string, Map<string, number>>()
  #size = 0
  #timer: NodeJS.Timeout | null = null

  /** @param tell hands on what was counted here to the others */
  constructor(tell: (counted: Counted) => void) {
    this.#tell = tell
  }

  /**
   * Joins a count: `heard` is told what the others count, what comes back is called for what is counted here. Whoever joins last by a
   * name hears.
   *
   * @param delay milliseconds until the others are told, with everything else that was counted until then
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

  /** What another process has counted. */
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
