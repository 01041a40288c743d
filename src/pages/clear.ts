import { spawn } from 'node:child_process'
import { opendirSync, readdirSync, renameSync, type Dirent } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeDirectory } from '../lib/make-directory.ts'
import { busy, codeOf, faultOf, unwritable } from './faults.ts'
import { createPages, UnusableIndex } from './index-file.ts'
import { PageIndex } from './page-index.ts'
import {
  directoryMode,
  identityOf,
  isCleared,
  isFresh,
  isRealDirectory,
  isTrash,
  lookAt,
  newTrash,
  placesIn,
  within,
  type Places,
} from './places.ts'

/** Other processes may replace the directory between looking and opening; give up after this many attempts. */
const attempts = 20

/** What SQLite reports when the files that it opens or writes are deleted meanwhile. */
const deleted = new Set<string | null>(['SQLITE_CANTOPEN', 'SQLITE_IOERR_FSTAT', 'SQLITE_IOERR_DELETE_NOENT'])

/**
 * Opens the page index in a directory. Creates it when it is missing, replaces it when it is unusable, and completes a
 * clear that another process did not finish.
 * @throws the system's or SQLite's error when that is impossible at the moment
 */
export function openPages(places: Places, warn: (message: string) => void): PageIndex {
  let failure: unknown = null
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    let identity: string | null = null
    try {
      if (lookAt(places.pages) === null) createPages(places)
      identity = identityOf(places.index)
      const index = openSound(places)
      if (!index.isCleared()) return index
      try {
        index.moveAside()
      } finally {
        index.close()
      }
    } catch (error) {
      failure = error
      const fault = faultOf(error)
      if (fault === 'broken') discard(places, identity, warn, error)
      else if (attempt > 1 || (fault !== 'busy' && !deleted.has(codeOf(error)))) throw error
    }
  }
  throw failure ?? new UnusableIndex('The page index could not be opened')
}

/** `openPages`, except for an index that was gone in the meantime, or a copy of it (a restored backup, for example), which is discarded. */
export function openUnlessLeft(left: ReadonlySet<string>, places: Places, warn: (message: string) => void): PageIndex {
  const index = openPages(places, warn)
  if (!left.has(index.generation)) return index
  index.close()
  discard(places, index.identities[0] ?? null, warn, 'it is from before its files vanished or were replaced')
  return openPages(places, warn)
}

/** Does not follow a link planted in place of a directory. */
function openSound(places: Places): PageIndex {
  for (const path of [places.pages, places.bodies, places.temporary]) {
    if (!isRealDirectory(path)) throw new UnusableIndex(`${path} is not a directory`)
  }
  return new PageIndex(places)
}

/** Moves an unusable page directory aside, if its index is still the one found unusable. */
export function discard(
  places: Places,
  identity: string | null,
  warn: (message: string) => void,
  cause: unknown,
): void {
  if (identityOf(places.index) !== identity) return
  const trash = newTrash(places.directory)
  try {
    renameSync(places.pages, trash)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  warn(`The page store was unusable and starts empty (${reason})`)
  tombstoneIn(within(places.directory, trash))
}

/** Marks the index as cleared for processes that still have it open. An index that cannot be opened has no readers. */
function tombstoneIn(moved: Places): void {
  try {
    const index = new PageIndex(moved)
    try {
      index.tombstone()
    } finally {
      index.close()
    }
  } catch (error) {
    if (faultOf(error) === null) throw error
  }
}

/** Repeated, because concurrent removals of the same directory make rmSync end early without an error. */
const removal = `
  const fs = require('node:fs')
  try { require('node:os').setPriority(19) } catch {}
  for (const path of process.argv.slice(1)) {
    for (let round = 0; round < 100 && fs.existsSync(path); round += 1) {
      try { fs.rmSync(path, { recursive: true, force: true }) } catch {}
    }
  }`

/** Of more entries than this, the deletion takes longer than the start of a process. */
const fewEntries = 64
/** Other processes may be deleting the same directory. */
const withRetries = { recursive: true, force: true, maxRetries: 3, retryDelay: 10 }

/** Deletes directories that were moved aside: large ones in a detached process. The next sweep retries what fails. */
export function removeTrash(directory: string): void {
  const paths = leftovers(directory).flatMap((name) => partsToGo(within(directory, join(directory, name)), name))
  const large: string[] = []
  for (const path of paths)
    if (hasFewEntries(path)) rm(path, withRetries).catch(ignore)
    else large.push(path)
  if (large.length === 0) return
  const child = spawn(process.execPath, ['-e', removal, '--', ...large], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
    env: {},
  })
  child.on('error', ignore)
  child.unref()
}

function ignore(): void {}

/** Whether a file, or a directory with all below it, is deleted quickly. Does not follow links. */
function hasFewEntries(top: string): boolean {
  const directories = lookAt(top)?.isDirectory() ? [top] : []
  let entries = 0
  try {
    for (const path of directories)
      for (const entry of entriesOf(path)) {
        if ((entries += 1) > fewEntries) return false
        if (entry.isDirectory()) directories.push(join(path, entry.name))
      }
  } catch (error) {
    // Another process is deleting it.
    if (faultOf(error) === null) throw error
  }
  return true
}

/** Reads a directory piece by piece: it may be very large. */
function* entriesOf(path: string): Generator<Dirent> {
  const directory = opendirSync(path)
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry
  } finally {
    directory.closeSync()
  }
}

/** Which files of a directory to delete: all, or all except the index while its URLs must still be read. */
function partsToGo(places: Places, name: string): string[] {
  return isCleared(name) ? [places.bodies, places.temporary].filter((path) => lookAt(path) !== null) : [places.pages]
}

/** Age at which an unfinished page directory counts as abandoned, in milliseconds. */
const abandonedAfter = 60_000

function leftovers(directory: string): string[] {
  try {
    return readdirSync(directory).filter(
      (name) => isTrash(name) || isCleared(name) || (isFresh(name) && ageOf(join(directory, name)) > abandonedAfter),
    )
  } catch (error) {
    if (faultOf(error) === null) throw error
    return []
  }
}

function ageOf(path: string): number {
  const found = lookAt(path)
  return found === null ? 0 : Date.now() - found.mtimeMs
}

/**
 * Clears the whole application cache directory of an environment: the pages and everything else in it. Moves everything
 * aside at once and deletes it in the background. Other processes notice at their next request.
 * `trace`: keeps the URLs of the removed pages readable, as in `PageStore.remove`.
 * @returns the exact number of page files removed
 * @throws PagecacheError STORE_BUSY, or STORE_FULL when an entry cannot be moved
 */
export async function clearApplicationCache(directory: string, trace: number | null = null): Promise<number> {
  try {
    return await clearEverything(placesIn(directory), trace)
  } catch (error) {
    const fault = faultOf(error)
    if (fault === null) throw error
    throw fault === 'busy' ? busy(error) : unwritable(error, directory)
  }
}

async function clearEverything(places: Places, trace: number | null): Promise<number> {
  const { directory } = places
  makeDirectory(directory, directoryMode)
  const removed = await clearPages(places, trace)
  const trash = newTrash(directory)
  for (const name of await readdir(directory)) {
    if (name === 'pages' || isTrash(name) || isFresh(name) || isCleared(name)) continue
    await moveInto(trash, join(directory, name))
  }
  removeTrash(directory)
  return removed
}

/** Moves a file or directory. Another process may delete `trash` at any moment: it is made anew while there is something to move. */
async function moveInto(trash: string, path: string): Promise<void> {
  while (lookAt(path) !== null) {
    await mkdir(trash, { mode: directoryMode, recursive: true })
    try {
      return await rename(path, join(trash, basename(path)))
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
}

const clearingPatience = 5_000

async function clearPages(places: Places, trace: number | null): Promise<number> {
  const giveUp = performance.now() + clearingPatience
  let removed = 0
  while (true) {
    if (lookAt(places.pages) === null) return removed
    const identity = identityOf(places.index)
    try {
      const index = openSound(places)
      try {
        removed += index.tombstone(trace)
        index.moveAside()
        return removed
      } finally {
        index.close()
      }
    } catch (error) {
      const fault = faultOf(error)
      if (fault === 'broken') discard(places, identity, ignore, error)
      else if (fault !== 'busy' || performance.now() > giveUp) throw error
    }
    await pause(10)
  }
}
