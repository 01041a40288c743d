import { PagecacheError } from '../errors.ts'

/** True for an error caused by another connection's lock: the statement can be retried. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))
}

const unavailable: readonly string[] = ['STORE_BUSY', 'STORE_FULL', 'STORE_LOST', 'STORE_UNREACHABLE']

/** True for records that are locked, full, lost or unreachable: that passes by itself or an operator fixes it, so callers wait and retry. */
export function isUnavailable(error: unknown): error is PagecacheError {
  return error instanceof PagecacheError && unavailable.includes(error.code)
}

/** Converts an error of SQLite to a PagecacheError; other errors are returned unchanged. */
export function toRecordsError(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (isBusy(error)) return busy(file, error)
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return damaged(file, messageOf(error), error)
  if (/^(SQLITE_(FULL|READONLY|IOERR|CANTOPEN|NOLFS)|ENOENT$)/.test(code)) return unwritable(file, error)
  return error
}

function busy(file: string, cause: unknown): PagecacheError {
  return new PagecacheError('STORE_BUSY', `${file} is locked by another process`, {
    hint: 'Try again; if it stays locked, find out which process holds the file open.',
    cause,
  })
}

export function damaged(file: string, what: string, cause?: unknown): PagecacheError {
  return new PagecacheError('STORE_DAMAGED', `${file} is damaged: ${what}`, {
    hint: 'Stop every process that uses it and restore it from a backup. Without one, move it and its -wal and -shm files away: the next start begins with empty records.',
    cause,
  })
}

export function foreign(file: string, what: string): PagecacheError {
  return new PagecacheError('STORE_FOREIGN', `${file} ${what}`, {
    hint: 'The file was not changed. Move it away, restore the right file from a backup, or choose another project directory.',
  })
}

interface SchemaVersions {
  current: number
  known: number
  /** The pagecache that wrote the schema; null if it is not known. */
  writer: string | null
}

export function newer(database: string, { current, known, writer }: SchemaVersions): PagecacheError {
  const by = writer === null ? 'a newer pagecache' : `pagecache ${writer}`
  return new PagecacheError(
    'STORE_NEWER',
    `${database} was written by ${by} (records version ${current}, supported ${known})`,
    {
      hint:
        writer === null
          ? 'Install that version again, or restore the records from a backup made before the upgrade.'
          : `Install pagecache ${writer} or later on this machine.`,
    },
  )
}

/** A schema that other machines may use, and that this program must not migrate without being told to. */
export function older(database: string, { current, known, writer }: SchemaVersions): PagecacheError {
  const by = writer === null ? 'an older pagecache' : `pagecache ${writer}`
  return new PagecacheError(
    'STORE_OLDER',
    `${database} was written by ${by} (records version ${current}, needed ${known})`,
    { hint: 'Migrate it with pagecache records:migrate, or start the daemon with serve --migrate.' },
  )
}

export function lost(file: string, what: string): PagecacheError {
  return new PagecacheError(
    'STORE_LOST',
    `${file} is no longer the database in use: ${what}. Nothing is written until it is restored`,
    {
      hint: 'Move the same files back. If they are lost: stop every process that uses them, restore a backup of records.sqlite without -wal and -shm files, and start again.',
    },
  )
}

export function unwritable(file: string, cause: unknown): PagecacheError {
  return new PagecacheError('STORE_FULL', `${file} cannot be used: ${messageOf(cause)}`, {
    hint: 'Check the free space, the free inodes and the permissions of its directory.',
    cause,
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
