import { SteadyMap, SteadySet } from './steady-map.ts'

/** A share of a byte budget. */
export interface Lease {
  /** Cancels the work that holds the bytes, when it stalls while others wait. Null: it cannot be cancelled. */
  onCut: (() => void) | null
  /** Records progress of the work. */
  touch(): void
  /** Charges more bytes, or fewer, for memory that is in use already: others wait for it. */
  grow(bytes: number): void
  /** Returns the bytes. Idempotent. */
  release(): void
}

interface Holder extends Lease {
  bytes: number
  /** Time of the last progress, in terms of `performance.now`. */
  touched: number
}

const defaultPatience = 5_000

/**
 * A memory limit in bytes for all work of one kind. Requests beyond it wait. While any wait, work without progress for
 * `patience` milliseconds is cancelled, longest idle first, so that clients that do not read cannot starve others.
 */
export class ByteBudget {
  readonly #bytes: number
  readonly #patience: number
  readonly #waiting: { bytes: number; grant: (lease: Lease) => void }[] = []
  /** In order of their last progress, oldest first. */
  readonly #holders = new SteadySet<Holder>()
  readonly #buffers = new SteadyMap<ArrayBufferLike, number>()
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

  /** Whether more than half is used, so that work should switch to smaller pieces. */
  get crowded(): boolean {
    return this.#used > this.#bytes / 2
  }

  /** Reserves bytes as soon as they are available. A request above the whole budget gets the whole budget. */
  lease(bytes: number): Promise<Lease> {
    const wanted = Math.min(bytes, this.#bytes)
    if (this.#waiting.length === 0 && this.#used + wanted <= this.#bytes) return Promise.resolve(this.#grant(wanted))
    return new Promise((grant) => {
      this.#waiting.push({ bytes: wanted, grant })
      this.#relieve()
    })
  }

  /** Charges a buffer that is already in memory while it is being sent; once, even for several clients. */
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
    return this.#holder(bytes, () => {})
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
      grow: (more) => {
        if (!this.#holders.has(holder)) return
        holder.bytes += more
        this.#used += more
        holder.touch()
        this.#relieve()
      },
      release: () => {
        if (!this.#holders.delete(holder)) return
        this.#used -= holder.bytes
        giveBack()
        this.#relieve()
      },
    }
    this.#holders.add(holder)
    return holder
  }

  /** Grants waiting requests that fit, and cancels stalled work when they do not. */
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
