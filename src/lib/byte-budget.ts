/** Bytes of a budget that somebody holds. */
export interface Lease {
  /** Ends the work that the bytes are for, when others wait and it makes no progress. Null: it cannot be ended. */
  onCut: (() => void) | null
  /** Tells that the work has made progress. */
  touch(): void
  /** Gives the bytes back; once or more often. */
  release(): void
}

interface Holder extends Lease {
  bytes: number
  /** When progress was last made, by `performance.now`. */
  touched: number
}

const defaultPatience = 5_000

/**
 * Memory, in bytes, that all work of one kind may take together. Who comes when it is used up waits for a turn. While somebody waits,
 * work that has made no progress for `patience` milliseconds is cut, the longest idle first: clients that do not read cannot lock out
 * those that do.
 */
export class ByteBudget {
  readonly #bytes: number
  readonly #patience: number
  readonly #waiting: { bytes: number; grant: (lease: Lease) => void }[] = []
  /** The longest idle first. */
  readonly #holders = new Set<Holder>()
  readonly #buffers = new Map<ArrayBufferLike, number>()
  #used = 0
  #timer: NodeJS.Timeout | null = null

  constructor(bytes: number, patience = defaultPatience) {
    this.#bytes = bytes
    this.#patience = patience
  }

  get used(): number {
    return this.#used
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** More than half of it is used: what can be done in smaller pieces should be. */
  get crowded(): boolean {
    return this.#used > this.#bytes / 2
  }

  /** Takes bytes, when there are enough of them; one that wants more than the whole budget waits for the whole of it. */
  lease(bytes: number): Promise<Lease> {
    const wanted = Math.min(bytes, this.#bytes)
    if (this.#waiting.length === 0 && this.#used + wanted <= this.#bytes) return Promise.resolve(this.#grant(wanted))
    return new Promise((grant) => {
      this.#waiting.push({ bytes: wanted, grant })
      this.#relieve()
    })
  }

  /** Counts a buffer that is in memory already for as long as it is being sent; one that goes to several clients counts once. */
  hold(buffer: Buffer, onCut: () => void): Lease {
    const memory = buffer.buffer
    const count = this.#buffers.get(memory) ?? 0
    this.#buffers.set(memory, count + 1)
    if (count === 0) this.#used += memory.byteLength
    const lease = this.#holder(0, () => this.#drop(memory))
    lease.onCut = onCut
    this.#relieve()
    return lease
  }

  #drop(memory: ArrayBufferLike): void {
    const count = this.#buffers.get(memory)! - 1
    if (count > 0) return void this.#buffers.set(memory, count)
    this.#buffers.delete(memory)
    this.#used -= memory.byteLength
  }

  #grant(bytes: number): Lease {
    this.#used += bytes
    return this.#holder(bytes, () => {
      this.#used -= bytes
    })
  }

  #holder(bytes: number, giveBack: () => void): Holder {
    const holder: Holder = {
      bytes,
      onCut: null,
      touched: performance.now(),
      touch: () => {
        holder.touched = performance.now()
        if (this.#holders.delete(holder)) this.#holders.add(holder)
      },
      release: () => {
        if (!this.#holders.delete(holder)) return
        giveBack()
        this.#relieve()
      },
    }
    this.#holders.add(holder)
    return holder
  }

  /** Grants what there is room for, and cuts the idle where there is too little. */
  #relieve(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && this.#used + next.bytes <= this.#bytes;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift()
      next.grant(this.#grant(next.bytes))
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#waiting.length === 0 && this.#used <= this.#bytes) return
    const idle = this.#longestIdle()
    if (idle === null) return
    const rest = this.#patience - (performance.now() - idle.touched)
    if (rest > 0) {
      this.#timer = setTimeout(() => this.#relieve(), rest)
      this.#timer.unref()
      return
    }
    idle.onCut!()
    idle.release()
  }

  #longestIdle(): Holder | null {
    for (const holder of this.#holders) if (holder.onCut !== null) return holder
    return null
  }
}
