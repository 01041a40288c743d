import { randomBytes } from 'node:crypto'
import { constants, lstatSync, type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './faults.ts'

/** Only the daemon's user may read what visitors were sent. */
export const directoryMode = 0o700
export const fileMode = 0o600

/** The paths of a page store beneath the application cache directory. */
export interface Places {
  readonly directory: string
  readonly pages: string
  readonly index: string
  readonly bodies: string
  readonly temporary: string
  /** The automatic limit in force (src/pages/published-limit.ts). */
  readonly limit: string
}

export function placesIn(directory: string): Places {
  return within(directory, join(directory, 'pages'))
}

/** The same layout under another directory: one being built, or one moved aside. */
export function within(directory: string, pages: string): Places {
  return {
    directory,
    pages,
    index: join(pages, 'index.sqlite'),
    bodies: join(pages, 'bodies'),
    temporary: join(pages, 'tmp'),
    limit: join(pages, 'limit'),
  }
}

const trashPrefix = '.trash-'
const freshPrefix = '.fresh-'

export function newTrash(directory: string): string {
  return join(directory, trashPrefix + randomBytes(8).toString('hex'))
}

export function newFresh(directory: string): string {
  return join(directory, freshPrefix + randomBytes(8).toString('hex'))
}

/** A cleared page directory with URLs that are still to be read for the log. */
const clearedPrefix = '.cleared-'

export function newCleared(directory: string): string {
  return join(directory, clearedPrefix + randomBytes(8).toString('hex'))
}

export function isCleared(name: string): boolean {
  return name.startsWith(clearedPrefix)
}

export function isTrash(name: string): boolean {
  return name.startsWith(trashPrefix)
}

/** Whether a name is that of a page directory being built, or left over from a process that died. */
export function isFresh(name: string): boolean {
  return name.startsWith(freshPrefix)
}

/** Identifies the file at a path, to detect a replacement; null when there is none. Does not follow links. */
export function identityOf(path: string): string | null {
  const found = lookAt(path)
  return found === null ? null : toIdentity(found)
}

/** Includes the file type: a new file may reuse the inode of a removed directory. */
function toIdentity({ dev, ino, mode }: Stats): string {
  return `${dev}:${ino}:${mode & constants.S_IFMT}`
}

/** Asynchronous variant of `identityOf`. */
export async function identityLater(path: string): Promise<string | null> {
  try {
    return toIdentity(await lstat(path))
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null
    throw error
  }
}

export function isRealDirectory(path: string): boolean {
  return lookAt(path)?.isDirectory() ?? false
}

/** The status of the file at a path, without following links; null when there is none. */
export function lookAt(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return null
    throw error
  }
}

/** The parts of an open store whose disappearance or replacement means that the store is gone. */
export function vitalParts(places: Places): string[] {
  return [places.index, `${places.index}-wal`, `${places.index}-shm`, places.bodies, places.temporary]
}
