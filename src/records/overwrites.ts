import { closeSync, openSync, readSync, statSync } from 'node:fs'

/**
 * Frames in the write-ahead log, how many of them are in the database file, and a value that changes with every commit;
 * null inside a transaction.
 */
export type ReadFrames = () => { log: number; checkpointed: number; version: string } | null

/** How long a checkpoint of another process may write before its end is visible, in milliseconds. */
const checkpointTime = 5_000
/** How often the state of the log is read while the file is unchanged, in milliseconds. */
const refreshInterval = 100

/**
 * Detects that another program wrote to an open database file in place, such as `cp backup.sqlite records.sqlite`. In
 * WAL mode SQLite itself writes to the file only in checkpoints, which end with a change of the log's state, and the
 * file never shrinks because nothing vacuums it.
 */
export class Overwrites {
  readonly #file: string
  readonly #readFrames: ReadFrames
  #largest = 0
  /** The file's time of change and the state of the log, as last seen together. */
  #base: { changedAt: bigint; state: string; readAt: number } | null = null
  #suspectedAt: number | null = null

  constructor(file: string, readFrames: ReadFrames) {
    this.#file = file
    this.#readFrames = readFrames
  }

  /** Whether the file was overwritten since it was opened. @throws the system's error when it is unreachable */
  found(): boolean {
    const { size, mtimeNs } = statSync(this.#file, { bigint: true })
    if (size < this.#largest) return true
    this.#largest = Number(size)
    const now = performance.now()
    if (this.#base === null || mtimeNs === this.#base.changedAt) return this.#note(now)
    const state = this.#state()
    if (state !== null && state.text !== this.#base.state) {
      this.#base = null
      return this.#note(now)
    }
    this.#suspectedAt ??= now
    // If the whole log is in the file already, no checkpoint has anything to write.
    return state?.isWhole === true || now - this.#suspectedAt > checkpointTime
  }

  /** Remembers the present state as the work of SQLite. */
  #note(now: number): false {
    this.#suspectedAt = null
    if (this.#base !== null && now - this.#base.readAt < refreshInterval) return false
    const before = this.#state()
    const changedAt = statSync(this.#file, { bigint: true }).mtimeNs
    // A checkpoint that ends in between would make the two disagree.
    if (before !== null && before.text === this.#state()?.text)
      this.#base = { changedAt, state: before.text, readAt: now }
    return false
  }

  #state(): { text: string; isWhole: boolean } | null {
    const frames = this.#readFrames()
    if (frames === null) return null
    const { log, checkpointed, version } = frames
    const cycle = this.#cycle()
    // A truncated log has no cycle. If it was filled and truncated again since, only the commits tell.
    return { text: cycle === null ? `empty ${version}` : `${cycle} ${checkpointed}`, isWhole: log === checkpointed }
  }

  /**
   * The number of the log's current cycle, null for an empty log (https://sqlite.org/fileformat2.html#walformat). Unlike the database file, the
   * log may be opened beside SQLite, which holds no locks on it.
   */
  #cycle(): number | null {
    const header = Buffer.alloc(16)
    const log = openSync(`${this.#file}-wal`, 'r')
    try {
      return readSync(log, header) < header.length ? null : header.readUInt32BE(12)
    } finally {
      closeSync(log)
    }
  }
}
