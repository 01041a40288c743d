import { setTimeout as pause } from 'node:timers/promises'
import type { PagecacheError } from '../errors.ts'
import { discard, openUnlessLeft, removeTrash } from './clear.ts'
import { busy, faultOf, isStatementFault, nameOf, unreadable, unwritable, type StorageFault } from './faults.ts'
import { FailureWarning } from './failure-warning.ts'
import type { KnownKeys } from './known-keys.ts'
import { LastPoll } from './last-poll.ts'
import type { PageIndex } from './page-index.ts'
import type { Fence, Selection } from './page-store.ts'
import { identityLater, identityOf, vitalParts, type Places } from './places.ts'
import { Renewals } from './renewals.ts'

/** Interval of the check that the directory is still the one we opened, in milliseconds: while the store is used, and while it is not. */
const watchIntervals = { used: 250, idle: 750 }
/** After a pause this long in milliseconds (stopped process, blocked event loop) the files are checked before use. */
const trustedFor = 1_000

export interface SharedIndexOptions {
  places: Places
  onWarning: (message: string) => void
  onOpened?: () => void
  /** How long a write waits for other processes, in milliseconds. */
  patience: number
  /** As in `FilesystemStoreOptions`. */
  known: KnownKeys | null
}

/**
 * The index as shared by several processes: picks up their changes, and reopens or recreates the index when its files
 * vanish, are replaced or are damaged. `current` is null while it cannot be opened.
 */
export class SharedIndex {
  #index: PageIndex | null = null
  readonly #left = new Set<string>() // Generations whose files vanished: if they come back, they miss the removals since then.
  #version = 0
  #seen = 0 // The last removal known to the listeners.
  #lookedAt = 0
  readonly #lastPoll = new LastPoll()
  #isUsed = false // Since the last check of the files.
  #closed = false
  readonly #warning: FailureWarning
  #lastError: unknown = null
  #patientUntil = -Infinity // While other processes prevent opening.
  readonly #listeners: ((selection: Selection) => void)[] = []
  readonly renewals: Renewals
  #watch: NodeJS.Timeout | undefined
  readonly #options: SharedIndexOptions

  constructor(options: SharedIndexOptions) {
    this.#options = options
    this.#warning = new FailureWarning(options.onWarning)
    this.renewals = new Renewals(options.known)
    this.#open()
    this.#scheduleLook()
  }

  get current(): PageIndex | null {
    return this.#index
  }

  /** Why nothing is readable now; null while it is. */
  fault(): PagecacheError | null {
    if (this.#index !== null) return null
    this.#warning.withdraw()
    const error = this.#lastError
    return faultOf(error) === 'busy' ? busy(error) : unreadable(this.#options.places.pages, error)
  }

  onRemoved(listener: (selection: Selection) => void): void {
    this.#listeners.push(listener)
  }

  /** Waits while other processes prevent opening. Any other failure is retried in the background. */
  async ready(): Promise<void> {
    while (this.#index === null && performance.now() < this.#patientUntil) await pause(20)
  }

  /** Looks once per callback of the event loop and the promises that follow it: meanwhile no request arrives. A commit of this thread is seen at once. */
  poll(): void {
    const index = this.#index
    if (index === null || this.#lastPoll.isCurrent) return
    this.#lastPoll.begin(index)
    this.#isUsed = true
    try {
      if (performance.now() - this.#lookedAt > trustedFor && this.look()) return
      const version = index.dataVersion()
      if (version !== this.#version) this.catchUp(version)
    } catch (error) {
      this.fail(error)
    }
  }

  /** As in `PageStore`. */
  readonly asOfTurn = <T>(read: () => T): T => this.#lastPoll.substitute(this.#index, read)

  /** Reads new removals and notifies the listeners. */
  catchUp(version = this.#index?.dataVersion() ?? 0): void {
    const index = this.#index
    if (index === null) return
    // Differs from every version until all is read: a failure must not hide what has changed.
    this.#version = Number.NaN
    const news = index.log.news()
    if (news.cleared !== 0 || news.generation !== index.generation) this.#leave(index)
    else if (news.floor > this.#seen) {
      this.#seen = news.last
      this.#tell({ kind: 'all' })
    } else if (news.last > this.#seen) {
      for (const { seq, selection } of index.log.since(this.#seen)) {
        this.#seen = Math.max(this.#seen, seq)
        this.#tell(selection)
      }
    }
    if (this.#index !== index) return
    const keys = this.renewals.learn(index.reads, news.lastPage)
    if (keys === null) this.#tell({ kind: 'all' })
    else this.renewals.tell(keys)
    this.#version = version
  }

  /** Notifies the listeners of a removal that this process committed, and of earlier ones. */
  announce(selection: Selection): void {
    try {
      this.catchUp()
    } catch (error) {
      this.fail(error)
      this.#tell(selection)
    }
  }

  fence(): Fence {
    this.poll()
    return { generation: this.#index?.generation ?? '', sequence: this.#seen }
  }

  holds(fence: Fence): boolean {
    this.poll()
    return this.heldAtLastPoll(fence)
  }

  readonly heldAtLastPoll = ({ generation, sequence }: Fence): boolean =>
    this.#index?.generation === generation && this.#seen === sequence

  /** Reads from the index; returns the fallback when it is unavailable. Never throws a storage error. */
  read<T>(fallback: T, ask: (index: PageIndex) => T): T {
    this.poll()
    const index = this.#index
    if (index === null) return fallback
    try {
      return ask(index)
    } catch (error) {
      if (this.fail(error) === 'unwritable' && this.#index === index) {
        this.#lastError = error
        this.#suspend()
      }
      return fallback
    }
  }

  /**
   * Runs a write, retrying while other processes hold the index.
   * @throws PagecacheError STORE_BUSY when that takes too long, STORE_FULL when nothing can be written
   */
  async write<T>(work: (index: PageIndex) => T): Promise<T> {
    const giveUp = performance.now() + this.#options.patience
    for (let delay = 2; ; delay = Math.min(50, delay * 2)) {
      const index = this.#index
      try {
        if (index !== null) return work(index)
      } catch (error) {
        if (this.fail(error) === 'unwritable') throw unwritable(error)
        if (!isStatementFault(error)) throw error
        if (performance.now() > giveUp) throw busy(error)
      }
      if (index === null && performance.now() > giveUp) throw unwritable(null)
      await pause(delay)
    }
  }

  /**
   * Handles a failed call on the index or its files. A missing directory makes the index unusable, a missing file not.
   * @throws the error itself when it is not a storage error
   */
  fail(error: unknown): StorageFault {
    const fault = faultOf(error)
    if (fault === null) throw error
    if (fault !== 'busy' && !this.look() && fault === 'broken' && isStatementFault(error)) this.#abandon(error)
    if (fault === 'unwritable') this.#warning.tell(`The page store is not writable (${nameOf(error)})`)
    return fault
  }

  /** Whether the files vanished or were replaced, in which case the store has been reopened. */
  look(): boolean {
    this.#lookedAt = performance.now()
    return this.#index !== null && this.#judge(this.#index, vitalParts(this.#options.places).map(identityOf))
  }

  #scheduleLook(): void {
    if (this.#closed) return
    const delay = watchIntervals[this.#isUsed || this.#index === null ? 'used' : 'idle']
    this.#isUsed = false
    this.#watch = setTimeout(() => void this.#lookLater().finally(() => this.#scheduleLook()), delay).unref()
  }

  async #lookLater(): Promise<void> {
    const index = this.#index
    if (index === null) return this.#open()
    try {
      const found = await Promise.all(vitalParts(this.#options.places).map(identityLater))
      this.#lookedAt = performance.now()
      if (this.#index === index) this.#judge(index, found)
    } catch (error) {
      if (faultOf(error) === null) throw error
    }
  }

  #judge(index: PageIndex, found: readonly (string | null)[]): boolean {
    if (found.every((identity, part) => identity === index.identities[part])) return false
    this.#left.add(index.generation)
    if (found[0] === index.identities[0]) this.#leave(index)
    else this.#restart()
    return true
  }

  /** Leaves an index that was cleared or lost its bodies, and makes all other processes leave it too. */
  #leave(index: PageIndex): void {
    try {
      index.tombstone()
      index.moveAside()
    } catch (error) {
      if (faultOf(error) === null) throw error
      // Another process is moving it, or nothing can be written: opening finds out which.
    }
    this.#restart()
  }

  #abandon(cause: unknown): void {
    const identity = this.#index?.identities[0] ?? null
    try {
      if (identity !== null) discard(this.#options.places, identity, this.#options.onWarning, cause)
    } catch (error) {
      if (faultOf(error) === null) throw error
    }
    this.#restart()
  }

  #restart(): void {
    this.#suspend()
    this.#open()
  }

  #suspend(): void {
    const index = this.#index
    this.#index = null
    index?.close()
    this.#tell({ kind: 'all' })
  }

  #open(): void {
    if (this.#closed || this.#index !== null) return
    try {
      const index = openUnlessLeft(this.#left, this.#options.places, this.#options.onWarning)
      this.#seen = index.log.last()
      this.renewals.restart(index.reads)
      this.#version = index.dataVersion()
      this.#index = index
      this.#lookedAt = performance.now()
      this.#warning.reset()
      this.#patientUntil = -Infinity
      this.#options.onOpened?.()
      removeTrash(this.#options.places.directory)
    } catch (error) {
      if (faultOf(error) === null) throw error
      this.#lastError = error
      if (faultOf(error) === 'busy') return this.#openLater()
      this.#patientUntil = -Infinity
      this.#warning.tell(`Could not open the page store (${nameOf(error)})`)
    }
  }

  /** Warns only when other processes prevent opening for long: a clear of theirs takes a moment. */
  #openLater(): void {
    if (this.#patientUntil === -Infinity) this.#patientUntil = performance.now() + this.#options.patience
    if (performance.now() >= this.#patientUntil)
      this.#warning.tell(`Could not open the page store (${nameOf(this.#lastError)})`)
    setTimeout(() => this.#open(), 10).unref()
  }

  #tell(selection: Selection): void {
    for (const listener of this.#listeners) listener(selection)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#watch)
    this.#index?.close()
    this.#index = null
  }
}
