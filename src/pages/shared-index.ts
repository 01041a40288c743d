import { setTimeout as pause } from 'node:timers/promises'
import type { PagecacheError } from '../errors.ts'
import { discard, openPages, removeTrash } from './clear.ts'
import { busy, faultOf, isStatementFault, nameOf, unreadable, unwritable, type Fault } from './faults.ts'
import type { PageIndex } from './page-index.ts'
import type { Fence, Selection } from './page-store.ts'
import { identityLater, identityOf, vitalParts, type Places } from './places.ts'
import { Renewals } from './renewals.ts'

/** How often we look whether the directory is still the one that we opened, in milliseconds. */
const watchInterval = 250
/** After a halt of this long (a stopped process, a stalled loop) we look before we believe anything. */
const trustedFor = 1_000

export interface SharedIndexOptions {
  places: Places
  onWarning: (message: string) => void
  /** How long a write waits for other processes, in milliseconds. */
  patience: number
}

/**
 * The index as one of several processes has it: takes notice of what the others did, begins anew where the files
 * vanished, were replaced or are damaged, and is `null` while nothing can be opened.
 */
export class SharedIndex {
  #index: PageIndex | null = null
  /** The one before; closed. */
  #left: PageIndex | null = null
  /** `data_version` and the last removal that the listeners were told of. */
  #version = 0
  #seen = 0
  #lookedAt = 0
  #looking = false
  #closed = false
  #warned = ''
  /** What the last attempt to open or read failed with. */
  #obstacle: unknown = null
  readonly #listeners: ((selection: Selection) => void)[] = []
  readonly #renewalListeners: ((keys: readonly string[]) => void)[] = []
  readonly renewals = new Renewals()
  readonly #watch: NodeJS.Timeout
  readonly #options: SharedIndexOptions

  constructor(options: SharedIndexOptions) {
    this.#options = options
    this.#open()
    this.#watch = setInterval(() => void this.#lookLater(), watchInterval)
    this.#watch.unref()
  }

  get current(): PageIndex | null {
    return this.#index
  }

  /** Why nothing can be read now; null while it can. */
  fault(): PagecacheError | null {
    if (this.#index !== null) return null
    return faultOf(this.#obstacle) === 'busy'
      ? busy(this.#obstacle)
      : unreadable(this.#options.places.pages, this.#obstacle)
  }

  onRemoved(listener: (selection: Selection) => void): void {
    this.#listeners.push(listener)
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#renewalListeners.push(listener)
  }

  /** Waits where other processes were in the way of opening; whatever else was, is tried again in the background. */
  async ready(): Promise<void> {
    const giveUp = performance.now() + this.#options.patience
    while (this.#index === null && faultOf(this.#obstacle) === 'busy' && performance.now() < giveUp) {
      await pause(20)
      this.#open()
    }
  }

  poll(): void {
    const index = this.#index
    if (index === null) return
    try {
      if (performance.now() - this.#lookedAt > trustedFor) this.look()
      else if (index.dataVersion() !== this.#version) this.catchUp()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Reads what was removed since we last looked and tells the listeners. */
  catchUp(): void {
    const index = this.#index
    if (index === null) return
    this.#version = index.dataVersion()
    const state = index.log.state()
    if (state.cleared !== 0 || state.generation !== index.generation) {
      this.#leave(index)
    } else if (state.floor > this.#seen) {
      this.#seen = index.log.last()
      this.#tell({ kind: 'all' })
    } else {
      for (const { seq, selection } of index.log.since(this.#seen)) {
        this.#seen = Math.max(this.#seen, seq)
        this.#tell(selection)
      }
    }
    if (this.#index === index) this.#learnRenewals(index)
  }

  #learnRenewals(index: PageIndex): void {
    const keys = this.renewals.learn(index.reads)
    if (keys === null) this.#tell({ kind: 'all' })
    else if (keys.length > 0) for (const listener of this.#renewalListeners) listener(keys)
  }

  /** Tells the listeners of a removal that this process has just committed, and of others before it. */
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
    return this.#index !== null && this.#index.generation === fence.generation && this.#seen === fence.sequence
  }

  /** Answers from the index, or with the fallback where there is none to ask. Never throws a storage error. */
  read<T>(fallback: T, ask: (index: PageIndex) => T): T {
    this.poll()
    const index = this.#index
    if (index === null) return fallback
    try {
      return ask(index)
    } catch (error) {
      const fault = this.fail(error)
      if (fault === 'unwritable' && this.#index === index) {
        this.#obstacle = error
        this.#suspend()
      }
      return fallback
    }
  }

  /**
   * Runs a write, again and again while other processes are in the way.
   * @throws PagecacheError STORE_BUSY when that takes too long, STORE_FULL where nothing can be written
   */
  async write<T>(work: (index: PageIndex) => T): Promise<T> {
    const giveUp = performance.now() + this.#options.patience
    for (let delay = 2; ; delay = Math.min(50, delay * 2)) {
      const index = this.#index
      try {
        if (index !== null) return work(index)
      } catch (error) {
        const fault = this.fail(error)
        if (fault === 'unwritable') throw unwritable(error)
        if (!isStatementFault(error)) throw error
        if (performance.now() > giveUp) throw busy(error)
      }
      if (index === null && performance.now() > giveUp) throw unwritable(null)
      await pause(delay)
    }
  }

  /**
   * Deals with a failed call on the index or on the files beside it. A missing file alone does not condemn the
   * index; a vanished directory does.
   * @throws the error itself where it is no storage error
   */
  fail(error: unknown): Fault {
    const fault = faultOf(error)
    if (fault === null) throw error
    if (fault !== 'busy' && !this.look() && fault === 'broken' && isStatementFault(error)) this.#abandon(error)
    if (fault === 'unwritable') this.#warn(`The page store cannot be written now (${nameOf(error)})`)
    return fault
  }

  /** Whether the files had vanished or were replaced; if so, the store has begun anew. */
  look(): boolean {
    this.#lookedAt = performance.now()
    const index = this.#index
    if (index === null) return false
    const found = vitalParts(this.#options.places).map(identityOf)
    return this.#judge(index, found)
  }

  async #lookLater(): Promise<void> {
    if (this.#index === null) return this.#open()
    if (this.#looking) return
    this.#looking = true
    const index = this.#index
    try {
      const found = await Promise.all(vitalParts(this.#options.places).map(identityLater))
      this.#lookedAt = performance.now()
      if (this.#index === index) this.#judge(index, found)
    } catch (error) {
      if (faultOf(error) === null) throw error
    } finally {
      this.#looking = false
    }
  }

  #judge(index: PageIndex, found: readonly (string | null)[]): boolean {
    if (found.every((identity, part) => identity === index.identities[part])) return false
    if (found[0] === index.identities[0]) this.#leave(index)
    else this.#restart()
    return true
  }

  /** Leaves an index that was cleared, or whose bodies are gone, and sees to it that nobody stays behind. */
  #leave(index: PageIndex): void {
    try {
      index.tombstone()
      index.moveAside()
    } catch (error) {
      if (faultOf(error) === null) throw error
      // Somebody else is moving it, or nothing can be written: opening finds out which.
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
    this.#left = this.#index
    this.#index = null
    this.#left?.close()
    this.#tell({ kind: 'all' })
  }

  #open(): void {
    if (this.#closed || this.#index !== null) return
    try {
      const index = this.#openOriginal()
      this.#seen = index.log.last()
      this.renewals.restart(index.reads)
      this.#version = index.dataVersion()
      this.#index = index
      this.#lookedAt = performance.now()
      this.#warned = ''
      removeTrash(this.#options.places.directory)
    } catch (error) {
      if (faultOf(error) === null) throw error
      this.#obstacle = error
      // Whoever else opens it needs a moment; visitors go past the cache meanwhile.
      if (faultOf(error) === 'busy') setTimeout(() => this.#open(), 10).unref()
      this.#warn(`The page store cannot be opened now (${nameOf(error)})`)
    }
  }

  /** A copy of what we had open (a backup put back, say) knows nothing of the removals since and is not used. */
  #openOriginal(): PageIndex {
    const { places, onWarning } = this.#options
    const index = openPages(places, onWarning)
    const isCopy = index.generation === this.#left?.generation && index.identities[0] !== this.#left.identities[0]
    if (!isCopy) return index
    index.close()
    discard(places, index.identities[0] ?? null, onWarning, 'it is a copy of an earlier one')
    return openPages(places, onWarning)
  }

  /** Once for each fault, not for each request that meets it. */
  #warn(message: string): void {
    if (message !== this.#warned) this.#options.onWarning(message)
    this.#warned = message
  }

  #tell(selection: Selection): void {
    this.#listeners.forEach((listener) => listener(selection))
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#watch)
    this.#index?.close()
    this.#index = null
  }
}
