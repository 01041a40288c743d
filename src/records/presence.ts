import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { PagecacheError } from '../errors.ts'
import { lost } from './errors.ts'

/** Bytes of a database's header (https://sqlite.org/fileformat.html). */
const headerSize = 100

/** The files of a database in WAL mode. SQLite removes none of them while a connection is open. */
const parts = [
  { suffix: '', name: 'the file' },
  { suffix: '-wal', name: 'its log (-wal)' },
  { suffix: '-shm', name: "its log's index (-shm)" },
]

/**
 * Checks that the files of an open database are still at its path. A connection keeps working on deleted or replaced files, and its writes
 * are lost when it closes. Putting the same files back resolves the problem.
 */
export class Presence {
  readonly #file: string
  readonly #seen = new Map<string, string>()
  /** The largest size of the file so far, in bytes. */
  #largest = 0

  constructor(file: string) {
    this.#file = file
    this.fault()
  }

  /** STORE_LOST if writes would be lost now, otherwise null. Takes a few microseconds. */
  fault(): PagecacheError | null {
    let size = 0
    for (const { suffix, name } of parts) {
      const stats = statsOf(this.#file + suffix)
      const now = stats && `${stats.dev}.${stats.ino}`
      const before = this.#seen.get(suffix)
      if (suffix === '') size = stats?.size ?? 0
      // The first statement creates the log.
      if (before === undefined && now !== null) this.#seen.set(suffix, now)
      else if (before !== undefined && now === null) return lost(this.#file, `${name} was deleted or moved away`)
      else if (before !== undefined && now !== before) return lost(this.#file, `${name} was replaced`)
    }
    return this.#seen.has('') ? this.#shrinkage(size) : null
  }

  /**
   * SQLite never shrinks the file, because nothing vacuums it: a smaller one was emptied or overwritten in place. A copy of the same size
   * or a larger one cannot be told from a checkpoint of another process.
   */
  #shrinkage(size: number): PagecacheError | null {
    if (size < headerSize) return lost(this.#file, 'the file was emptied')
    if (size < this.#largest) return lost(this.#file, 'another program has overwritten the file')
    this.#largest = size
    return null
  }

  /** @throws STORE_LOST */
  assert(): void {
    const fault = this.fault()
    if (fault !== null) throw fault
  }
}

/** Null for a file that is missing or unreachable, which is as lost. */
function statsOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}

/**
 * The id of a process that still has a deleted file of this path open; null without one, or without /proc. Creating a new file would hide
 * the loss from the operator.
 */
export function holderOfDeleted(file: string): number | null {
  return holdersOf(file, ' (deleted)')[0] ?? null
}

/** The ids of the processes that have a database open; none without /proc. `suffix`: as in the targets of /proc's links. */
export function holdersOf(file: string, suffix = ''): number[] {
  try {
    const path = join(realpathSync(dirname(file)), basename(file)) + suffix
    return usersOfDatabases()
      .filter((pid) => descriptorsOf(pid).includes(path))
      .map(Number)
  } catch {
    return []
  }
}

/** The kernel hands its list out by the page: a lock that is released between two pages hides another one. */
const listReads = 3

/**
 * The ids of the processes that have any SQLite database in WAL mode open: each connection has a lock on the shared bytes of its file
 * (https://sqlite.org/src/file/src/os.h). Reading the descriptors of all processes takes a tenth of a second on a busy machine.
 */
function usersOfDatabases(): string[] {
  const users = new Set(Array.from({ length: listReads }, listedUsers).flat())
  // Sandboxes without the list, or with an empty one in its place, have few processes. Some file systems keep their locks to themselves.
  return users.size > 0 ? [...users] : readdirSync('/proc').filter((name) => /^\d+$/.test(name))
}

function listedUsers(): string[] {
  try {
    return [...readFileSync('/proc/locks', 'utf8').matchAll(/ (\d+) \S+ 1073741826 /g)].map(([, pid]) => pid!)
  } catch {
    return []
  }
}

/** The targets of a process's file descriptors; an empty list for an ended process or one of another user. */
function descriptorsOf(pid: string): string[] {
  const directory = `/proc/${pid}/fd`
  try {
    return readdirSync(directory).map((descriptor) => {
      try {
        return readlinkSync(join(directory, descriptor))
      } catch {
        return ''
      }
    })
  } catch {
    return []
  }
}
