import { renameSync } from 'node:fs'
import type { Database, Statement } from 'better-sqlite3'
import { Counters } from './counters.ts'
import { Evictions } from './evictions.ts'
import { FileUses } from './file-uses.ts'
import { openIndexFile, UnusableIndex, workingPatience } from './index-file.ts'
import { PageChoices } from './page-choices.ts'
import { PageInserts } from './page-inserts.ts'
import { PageReads } from './page-reads.ts'
import type { Taken } from './page-store.ts'
import { PageWrites } from './page-writes.ts'
import { identityOf, newCleared, newTrash, vitalParts, type Places } from './places.ts'
import { RemovalLog } from './removals.ts'
import { Traces } from './traces.ts'

/** An open index file with its statements and transactions. It always refers to the same file. */
export class PageIndex {
  /** The commits of this thread to any index. Those of other threads and processes change the data version only. */
  static commits = 0
  readonly generation: string
  readonly counters: Counters
  readonly log: RemovalLog
  readonly reads: PageReads
  readonly evictions: Evictions
  /** Identity of each vital part of the store when the index was opened. */
  readonly identities: readonly (string | null)[]
  readonly #places: Places
  readonly #database: Database
  readonly #beginQuery: Statement<[]>
  readonly #commitQuery: Statement<[]>
  readonly #rollbackQuery: Statement<[]>
  readonly #getDataVersionQuery: Statement<[], number>
  #writes: PageWrites | null = null
  #inserts: PageInserts | null = null
  #choices: PageChoices | null = null
  #traces: Traces | null = null
  #files: FileUses | null = null

  /** @throws UnusableIndex or SQLite's error */
  constructor(places: Places, options: { readonly?: boolean } = {}) {
    const identity = identityOf(places.index)
    const database = openIndexFile(places.index, options)
    this.#places = places
    this.#database = database
    try {
      this.counters = new Counters(database)
      this.log = new RemovalLog(database)
      this.reads = new PageReads(database, this.counters)
      this.evictions = new Evictions(database)
      this.#beginQuery = database.prepare('BEGIN IMMEDIATE')
      this.#commitQuery = database.prepare('COMMIT')
      this.#rollbackQuery = database.prepare('ROLLBACK')
      this.#getDataVersionQuery = database.prepare<[], number>('PRAGMA data_version').pluck()
      this.generation = this.log.state().generation
      this.identities = vitalParts(places).map(identityOf)
      database.pragma(`busy_timeout = ${workingPatience}`)
      if (this.identities[0] !== identity) throw new UnusableIndex('The page index was replaced while it was opened')
    } catch (error) {
      database.close()
      throw error
    }
  }

  // A command that only reads does not prepare the forty statements of the following.

  get writes(): PageWrites {
    return (this.#writes ??= new PageWrites(this.#database, this.counters, this.evictions))
  }

  get inserts(): PageInserts {
    return (this.#inserts ??= new PageInserts(this.#database, this.counters, this.writes))
  }

  get choices(): PageChoices {
    return (this.#choices ??= new PageChoices(this.#database, this.counters))
  }

  get traces(): Traces {
    return (this.#traces ??= new Traces(this.#database))
  }

  get files(): FileUses {
    return (this.#files ??= new FileUses(this.#database))
  }

  /** Changes when another connection commits. Takes a few microseconds. */
  dataVersion(): number {
    return this.#getDataVersionQuery.get() ?? 0
  }

  /** Runs `work` in a write transaction. @throws what `work` throws, and SQLITE_BUSY while another process writes */
  write<T>(work: () => T): T {
    this.reads.forget()
    this.#beginQuery.run()
    try {
      const result = work()
      this.#commitQuery.run()
      PageIndex.commits += 1
      return result
    } catch (error) {
      if (this.#database.inTransaction) this.#rollbackQuery.run()
      throw error
    }
  }

  /**
   * Truncates the write-ahead log as far as other processes allow. @throws SQLite's error when the index has no space
   * to grow
   */
  shrink(): void {
    this.#database.pragma('wal_checkpoint(TRUNCATE)')
  }

  /** Like `write`, but the commit survives a power cut: for changes that must not be undone once acknowledged. */
  writeDurably<T>(work: () => T): T {
    this.#database.pragma('synchronous = FULL')
    try {
      return this.write(work)
    } finally {
      this.#database.pragma('synchronous = NORMAL')
    }
  }

  /**
   * Evicts the least recently used pages until the bodies take at most `target` bytes, but no more than `most` pages.
   * Runs inside a write transaction. Returns whether more pages must be evicted.
   */
  evict(target: number, most: number): boolean {
    let excess = this.counters.totals().size - target
    if (excess <= 0) return false
    const going: number[] = []
    for (const { id, size, live } of this.choices.leastUsed(most)) {
      if (excess <= 0) break
      going.push(id)
      if (live !== 0) excess -= size
    }
    this.writes.evict(going, 'size')
    return excess > 0
  }

  isCleared(): boolean {
    return this.log.state().cleared !== 0
  }

  /**
   * Marks the whole index as removed for every process. Returns how many live pages that removed; 0 when it was already
   * cleared.
   */
  tombstone(trace: number | null = null): number {
    return this.writeDurably(() => {
      if (this.isCleared()) return 0
      const { count } = this.counters.totals()
      this.log.tombstone(trace)
      return count
    })
  }

  /**
   * Moves the page directory aside unless another process already did. The lock on the index prevents two concurrent
   * moves; the identity check protects the new directory from the second process.
   */
  moveAside(): void {
    this.write(() => {
      if (identityOf(this.#places.index) !== this.identities[0]) return
      const { directory, pages } = this.#places
      renameSync(pages, this.unreleased().length === 0 ? newTrash(directory) : newCleared(directory))
    })
  }

  /** Traces that are not released, with that of the removal that cleared the index. */
  unreleased(before = Infinity): number[] {
    const { trace } = this.log.state()
    return [...this.traces.unreleased(before), ...(trace === null ? [] : [trace])]
  }

  /** The next pages of a trace, by id; null if it is not open here. */
  taken(trace: number, after: number, limit: number): Taken[] | null {
    return this.log.state().trace === trace ? this.traces.all(after, limit) : this.traces.taken(trace, after, limit)
  }

  close(): void {
    this.reads.known?.stop()
    this.#database.close()
  }
}
