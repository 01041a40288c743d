import { setImmediate as yieldToOthers, setTimeout as pause } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { hourLength } from '../lib/moment.ts'
import type { BodyFiles } from './body-files.ts'
import { removeTrash } from './clear.ts'
import { releaseCleared } from './cleared.ts'
import { faultOf } from './faults.ts'
import { Reaper } from './reaper.ts'
import type { Room } from './room.ts'
import type { SharedIndex } from './shared-index.ts'

/** Most pages of a slice, which takes a few milliseconds of the event loop, longer where others wait for it too or for the disk. */
const slice = 64
/** The shortest pause between two slices, in milliseconds. */
const shortestRest = 5
/** A pause takes as long as the last slice; while pages are purged, this many times as long, because purges are waited for. */
const restWhilePurging = 20
/** Pages count as being purged for this long after some were released, in milliseconds. */
const purgingFor = 500
/**
 * Smaller when space is short: the file system is checked after each slice, so that no more pages are evicted than
 * necessary.
 */
const reliefSlice = 16
/** Fraction of the limit down to which pages are evicted, so that not every new page triggers another eviction. */
const evictTo = 0.95
/**
 * Fraction of the limit that live and dead pages may take together; beyond it, each group of pages waits until others are removed. The
 * unused parts of files come on top of it: up to a third (docs/decisions/0093-shared-body-files.md).
 */
const holdFrom = 1.125
/** Traces released per transaction, which is limited by its pages too. */
const tracesAtOnce = 200
const removalsKeptFor = hourLength
/** A body without a row may still be in the hands of its writer for this long, in milliseconds. */
const orphanAge = 60_000

/** How often free space is checked, in milliseconds: other programs may fill the file system. */
const lookInterval = 1_000

export interface HousekeeperOptions {
  shared: SharedIndex
  bodies: BodyFiles
  room: Room
  directory: string
  maxSize: number
  now: () => number
}

/** Cleans up in slices in the background: evicts pages, and removes the bodies and rows of dead pages. */
export class Housekeeper {
  readonly #options: HousekeeperOptions
  #timer: NodeJS.Timeout | null = null
  #due = 0
  #working: Promise<void> | null = null
  #again = false
  readonly #stopping = new AbortController()
  #evicting = false
  #releasedAt = -Infinity // When pages of purges were last released, as `performance.now()`.
  #tellReaper: (() => void) | null = null
  readonly #reaper: Reaper
  readonly #startup: NodeJS.Timeout
  readonly #looking: NodeJS.Timeout

  constructor(options: HousekeeperOptions) {
    this.#options = options
    this.#reaper = new Reaper(options)
    // Late enough to recognise what a killed process left behind.
    this.#startup = setTimeout(() => void this.#quietly(this.removeOrphans()), orphanAge + 1_000)
    this.#startup.unref()
    this.#looking = setInterval(() => void this.#quietly(this.#look()), lookInterval)
    this.#looking.unref()
  }

  /** Schedules a clean-up in `delay` milliseconds, or earlier if one is already due. */
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

  /** Frees a file that a page has left, now or with the next clean-up. */
  async reconsider(file: string): Promise<void> {
    await this.#reaper.consider(file)
    this.wake()
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
    for (let began = performance.now(); !this.#stopped; began = performance.now()) {
      if (!((await this.#relieve()) || (await this.#evictSlice()) || (await this.#reapSlice()))) return
      await this.#rest(performance.now() - began)
    }
  }

  /**
   * Makes room for bodies that are about to be written: in a crawl, pages become dead faster than the background removes them. Removes at most
   * twice as many bytes, so that a large purge or a lower limit holds up no group for long and is still caught up with.
   */
  async keepToLimit(bytes: number): Promise<void> {
    const { shared, maxSize } = this.#options
    const most = maxSize * holdFrom - bytes
    const before = this.#sizes()
    const target = Math.max(most, before.all - 2 * bytes)
    for (let sizes = before; sizes.all > target && !this.#stopped; sizes = this.#sizes()) {
      if (!(await this.#reaper.slice())) {
        // What is left is still to be read for the log of purges.
        if (sizes.live <= most) return
        await shared.write((index) => index.write(() => index.evict(most, slice)))
        if (this.#sizes().live === sizes.live) return
      }
      await yieldToOthers()
    }
  }

  /** Bytes of the live pages, and together with those that are still to be removed. */
  #sizes(): { live: number; all: number } {
    const { shared } = this.#options
    return shared.read({ live: 0, all: 0 }, ({ counters }) => {
      const live = counters.totals().size
      return { live, all: live + counters.deadSize() + this.#reaper.unneeded }
    })
  }

  /** Pauses after work of `ms` milliseconds, without keeping the process alive or delaying `stop`. */
  async #rest(ms: number): Promise<void> {
    const isPurging = performance.now() - this.#releasedAt < purgingFor && !this.#options.room.isShort
    const length = Math.max(shortestRest, isPurging ? restWhilePurging * ms : ms)
    try {
      await pause(length, undefined, { ref: false, signal: this.#stopping.signal })
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error
    }
  }

  /** Evicts pages while the file system is short of space. */
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

  /** Delegates the clean-up of dead pages to another thread, notified by `tell`; null cleans up here. */
  leaveReaping(tell: (() => void) | null): void {
    this.#tellReaper = tell
  }

  async #reapSlice(): Promise<boolean> {
    if (this.#tellReaper !== null) {
      this.#tellReaper()
      return false
    }
    return this.#stopped ? false : this.#reaper.slice()
  }

  /** Removes expired pages and everything unreferenced. @throws PagecacheError STORE_BUSY, STORE_FULL */
  async sweep(): Promise<{ expired: number; orphans: number }> {
    const { shared, now, directory } = this.#options
    if (shared.current === null) return { expired: 0, orphans: 0 }
    const expired = await this.#expire()
    while (!this.#stopped && (await this.#reapSlice())) await pause(0)
    await this.#dropUnusedTags()
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
          expired += index.writes.evict(ids, 'expired')
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

  /** Allows the clean-up of pages that traced removals kept. */
  async release(traces: readonly number[]): Promise<void> {
    const { shared, directory } = this.#options
    this.#releasedAt = performance.now()
    for (let first = 0; shared.current !== null && first < traces.length;) {
      const some = traces.slice(first, first + tracesAtOnce)
      const more = await shared.write((index) => index.write(() => index.traces.release(some)))
      if (!more) first += tracesAtOnce
      if (first < traces.length) await pause(0)
    }
    releaseCleared(directory, traces)
    this.wake()
  }

  /** Removes bodies that no row references. Returns their number. */
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
        // When the index is unavailable, every file counts as referenced.
        const unknown = shared.read<string[]>([], (index) => files.filter((file) => !index.files.has(file)))
        for (const file of unknown) if (await bodies.removeOlder(file, moment)) orphans += 1
        // Those that a killed process has left thin.
        for (const file of files) if (!unknown.includes(file)) await this.#reaper.consider(file)
        await pause(0)
        while (!this.#stopped && (await this.#reaper.rewriteNext())) await pause(0)
      }
    }
    return orphans
  }

  /** Ignores storage errors: the next run retries. */
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
