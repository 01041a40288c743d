import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { PagecacheError } from '../errors.ts'
import { lost } from './faults.ts'

/** Bytes of a database's header (https://sqlite.org/fileformat.html). */
const headerSize = 100

/** The files of a database in WAL mode. SQLite removes none of them while a connection is open. */
const parts = [
  { suffix: '', name: 'the file' },
  { suffix: '-wal', name: 'its log (-wal)' },
  { suffix: '-shm', name: "its log's index (-shm)" },
]

/**
 * Knows whether the files under the path of an open database are still the ones that were opened. A connection goes on with files that
 * were deleted or replaced, and what it writes to them is gone with it. The same files put back are the right ones again.
 */
export class Presence {
  readonly #file: string
  readonly #seen = new Map<string, string>()

  constructor(file: string) {
    this.#file = file
    this.fault()
  }

  /** STORE_LOST where what is written now would be lost; null where it would not. A few microseconds. */
  fault(): PagecacheError | null {
    for (const { suffix, name } of parts) {
      const now = identityOf(this.#file + suffix)
      const before = this.#seen.get(suffix)
      // The log is made by the first statement.
      if (before === undefined && now !== null) this.#seen.set(suffix, now)
      else if (before !== undefined && now === null) return lost(this.#file, `${name} was deleted or moved away`)
      else if (before !== undefined && now !== before) return lost(this.#file, `${name} was replaced`)
    }
    if (this.#seen.has('') && isEmptied(this.#file)) return lost(this.#file, 'the file was emptied')
    return null
  }

  /** @throws STORE_LOST */
  assert(): void {
    const fault = this.fault()
    if (fault !== null) throw fault
  }
}

function identityOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path)
    return `${dev}.${ino}`
  } catch {
    // What cannot be reached under its path is as lost as what is not there.
    return null
  }
}

/** A database always has its first page; one that was cut off in place loses at its next checkpoint what it is told. */
function isEmptied(path: string): boolean {
  try {
    return statSync(path).size < headerSize
  } catch {
    return true
  }
}

/**
 * The id of a process that still uses a file which was deleted under this path: to make a new one would hide from its operator that the
 * other is lost. Null where there is none, or where the system does not tell (no /proc).
 */
export function holderOfDeleted(file: string): number | null {
  try {
    const deleted = `${join(realpathSync(dirname(file)), basename(file))} (deleted)`
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const holder = pids.find((pid) => descriptorsOf(pid).includes(deleted))
    return holder === undefined ? null : Number(holder)
  } catch {
    return null
  }
}

/** What the descriptors of a process point to; nothing of a process that is gone or of another user. */
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
