import { setTimeout as pause } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import type { BodyFiles } from './body-files.ts'
import { removeTrash } from './clear.ts'
import { releaseCleared } from './cleared.ts'
import { faultOf } from './faults.ts'
import type { Room } from './room.ts'
import type { PageIndex } from './page-index.ts'
import type { SharedIndex } from './shared-index.ts'
import { abandonedAfter } from './traces.ts'

/** Small enough that a slice takes the event loop for some 5 ms and leaves it the same time again. */
const slice = 64
const restBetweenSlices = 5
/** Fewer where the file system is short of room: it is looked at after each of them, so that no more go than have to. */
const reliefSlice = 16
/** Once over the limit, evict to below it by this much, so that not every page that comes makes another go. */
const evictTo = 0.95
/** Traces that are released in one transaction: few have more than some hundred pages. */
const tracesAtOnce = 32
const removalsKeptFor = 3_600_000
/** A body without a row is in the hands of its writer for this long, in milliseconds. */
const orphanAge = 60_000

/** How often the file system is looked at, in milliseconds: another program may fill it. */
const lookInterval = 1_000

export interface HousekeeperOptions {
  shared: SharedIndex
  bodies: BodyFiles
  room: Room
  directory: string
  maxSize: number
  now: () => number
}

/** Does in slices, in the background, what no visitor should wait for: bodies and rows of dead pages, eviction. */
export class Housekeeper {
  readonly #options: HousekeeperOptions
  #timer: NodeJS.Timeout | null = null
  #due = 0
  #working: Promise<void> | null = null
  #again = false
  readonly #stopping = new AbortController()
  #evicting = false
  #tellReaper: (() => void) | null = null
  readonly #startup: NodeJS.Timeout
  readonly #looking: NodeJS.Timeout

  constructor(options: HousekeeperOptions) {
    this.#options = options
    // What a killed process left behind is old enough to be told apart by then.
    this.#startup = setTimeout(() => void this.#quietly(this.removeOrphans()), orphanAge + 1_000)
    this.#startup.unref()
    this.#looking = setInterval(() => void this.#quietly(this.#look()), lookInterval)
    this.#looking.unref()
  }

  /** There may be dead pages; looked after in `delay` milliseconds, or sooner where that was asked for. */
  wake(delay = 20): void {
    this.#again = true
    if (this.#working !== null || this.#stopped) return
    const due = performance.now() + delay
    if (this.#timer !== null && this.#due <= due) return
    clearTimeout(this.#timer ?? undefined)
    this.#due = due
    this.#timer = setTimeout(() => this.#begin(), delay)
    this.#timer.unref()
  }

  #begin(): void {
    this.#timer = null
    this.#working = this.#quietly(this.#work()).finally(() => {
      this.#working = null
      if (this.#again) this.wake()
    })
  }

  evict(): void {
    this.#evicting = true
    this.wake()
  }

  async #look(): Promise<void> {
    if (await this.#options.room.look()) this.wake()
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted
  }

  async #work(): Promise<void> {
    this.#again = false
    while (!this.#stopped && ((await this.#relieve()) || (await this.#evictSlice()) || (await this.#reapSlice()))) {
      await this.#rest()
    }
  }

  /** Holds up neither the end of the process nor `stop`. */
  async #rest(): Promise<void> {
    try {
      await pause(restBetweenSlices, undefined, { ref: false, signal: this.#stopping.signal })
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error
    }
  }

  /** Gives pages up as long as the file system is short of room. */
  async #relieve(): Promise<boolean> {
    const { room } = this.#options
    return room.isShort && (await room.look()) && (await room.make(reliefSlice)) > 0
  }

  async #evictSlice(): Promise<boolean> {
    const { maxSize, shared } = this.#options
    if (!this.#evicting) return false
    this.#evicting = await shared.write((index) => index.write(() => index.evict(maxSize * evictTo, slice)))
    return this.#evicting
  }

  /** Dead pages are left to somebody else, who is told of them; null: they are reaped here. */
  leaveReaping(tell: (() => void) | null): void {
    this.#tellReaper = tell
  }

  /** Bodies go before rows: whatever comes between, a row is left that says which body is still to go. */
  async #reapSlice(): Promise<boolean> {
    if (this.#tellReaper !== null) {
      this.#tellReaper()
      return false
    }
    const { shared, bodies } = this.#options
    const dead = shared.read([], (index) => index.choices.dead(slice))
    if (dead.length === 0 || this.#stopped) return false
    await Promise.all(dead.map((page) => bodies.remove(page.file)))
    const ids = dead.map((page) => page.id)
    await shared.write((index) => index.write(() => index.choices.drop(ids)))
    return true
  }

  /** Drops pages past any use and everything that nothing points to. @throws PagecacheError STORE_BUSY, STORE_FULL */
  async sweep(): Promise<{ expired: number; orphans: number }> {
    const { shared, now, directory } = this.#options
    if (shared.current === null) return { expired: 0, orphans: 0 }
    const expired = await this.#expire()
    while (!this.#stopped && (await this.#reapSlice())) await pause(0)
    await this.#dropUnusedTags()
    for (const trace of shared.read<number[]>([], (index) => index.traces.abandoned(now() - abandonedAfter)))
      await this.release([trace])
    await shared.write((index) => index.write(() => index.log.prune(now() - removalsKeptFor)))
    const orphans = await this.removeOrphans()
    removeTrash(directory)
    return { expired, orphans }
  }

  async #expire(): Promise<number> {
    const { shared, now } = this.#options
    const moment = now()
    let expired = 0
    for (let found = slice; found === slice && !this.#stopped;) {
      await shared.write((index) =>
        index.write(() => {
          const ids = index.choices.expired(moment, slice)
          found = ids.length
          expired += index.writes.kill(ids)
        }),
      )
      await pause(0)
    }
    return expired
  }

  async #dropUnusedTags(): Promise<void> {
    const { shared } = this.#options
    const last = shared.read(0, (index) => index.choices.lastTag())
    for (let first = 0; first <= last && !this.#stopped; first += 1_000) {
      await shared.write((index) => index.write(() => index.choices.dropUnusedTags(first, first + 999)))
      await pause(0)
    }
  }

  /** What traced removals took may be cleaned away. */
  async release(traces: readonly number[]): Promise<void> {
    const { shared, directory } = this.#options
    for (let first = 0; shared.current !== null && first < traces.length;) {
      first += await shared.write((index) =>
        index.write(() => releaseSome(index, traces.slice(first, first + tracesAtOnce))),
      )
      if (first < traces.length) await pause(0)
    }
    releaseCleared(directory, traces)
    this.wake()
  }

  /** Returns the number of bodies removed that no row points to. */
  async removeOrphans(): Promise<number> {
    const { shared, bodies } = this.#options
    const time = await bodies.now()
    if (time === null) return 0
    const moment = time - orphanAge
    await bodies.removeTemporaryOlder(moment)
    let orphans = 0
    for await (const { shard, names } of bodies.shards()) {
      for (let first = 0; first < names.length && !this.#stopped; first += slice) {
        const files = names.slice(first, first + slice).map((name) => `${shard}/${name}`)
        // Where the index cannot be asked, every file counts as known.
        const unknown = shared.read<string[]>([], (index) => files.filter((file) => !index.reads.hasFile(file)))
        for (const file of unknown) if (await bodies.removeOlder(file, moment)) orphans += 1
        await pause(0)
      }
    }
    return orphans
  }

  /** What cannot be done now is done the next time. */
  async #quietly(work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      if (!(error instanceof PagecacheError) && faultOf(error) === null) throw error
      this.#again = false
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#startup)
    clearInterval(this.#looking)
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#working
  }
}

/** How many of the traces, from the first on, are released; of the next one a slice was. */
function releaseSome(index: PageIndex, traces: readonly number[]): number {
  const next = traces.findIndex((trace) => index.traces.release(trace))
  return next < 0 ? traces.length : next
}
