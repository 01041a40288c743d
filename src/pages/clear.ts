import { spawn } from 'node:child_process'
import { readdirSync, renameSync } from 'node:fs'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
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

/** So many processes may come between looking and opening before we give up for now. */
const attempts = 20

/**
 * Opens the page index in a directory, and makes it anew where there is none that can be used; what was there is
 * moved aside. A clear that a process did not live to finish is finished.
 * @throws the system's or SQLite's error where that is impossible at the moment
 */
export function openPages(places: Places, warn: (message: string) => void): PageIndex {
  let failure: unknown = null
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (lookAt(places.pages) === null) createPages(places)
    const identity = identityOf(places.index)
    try {
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
      else if (fault !== 'busy' || attempt > 1) throw error
    }
  }
  throw failure ?? new UnusableIndex('The page index could not be opened')
}

/** A link planted in the place of a directory is not followed. */
function openSound(places: Places): PageIndex {
  for (const path of [places.pages, places.bodies, places.temporary]) {
    if (!isRealDirectory(path)) throw new UnusableIndex(`${path} is not a directory`)
  }
  return new PageIndex(places)
}

/** Moves an unusable page directory aside, provided that its index is still the one that was found unusable. */
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
  warn(`The page store was not usable and begins anew (${reason})`)
  tombstoneIn(within(places.directory, trash))
}

/** Who still has the index open learns that it is gone. One that cannot be opened has nobody who could read it. */
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

/** In rounds, because a removal ends silently where it meets another one of the same directory. */
const removal = `
  const fs = require('node:fs')
  try { require('node:os').setPriority(19) } catch {}
  for (const path of process.argv.slice(1)) {
    for (let round = 0; round < 100 && fs.existsSync(path); round += 1) {
      try { fs.rmSync(path, { recursive: true, force: true }) } catch {}
    }
  }`

/** Deletes what was moved aside, in a process of its own that nobody waits for. What fails is tried again by the next sweep. */
export function removeTrash(directory: string): void {
  const paths = leftovers(directory).flatMap((name) => partsToGo(within(directory, join(directory, name)), name))
  if (paths.length === 0) return
  const child = spawn(process.execPath, ['-e', removal, '--', ...paths], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
    env: {},
  })
  child.on('error', ignore)
  child.unref()
}

function ignore(): void {}

/** Of a directory whose URLs are still to be read, everything but its index. */
function partsToGo(places: Places, name: string): string[] {
  return isCleared(name) && ageOf(places.index) < clearedKeptFor
    ? [places.bodies, places.temporary].filter((path) => lookAt(path) !== null)
    : [places.pages]
}

/** Nobody reads the URLs of a cleared directory after so long, in milliseconds. */
const clearedKeptFor = 3_600_000

/** A page directory that was being built this long ago, in milliseconds, has no builder any more. */
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
 * Clears the whole application cache directory of an environment: the pages and whatever else lies there. Everything
 * is moved aside at once and deleted in the background; other processes notice at their next request.
 * `trace`: keeps the URLs of the pages to be read, as `PageStore.remove` does.
 * @returns the exact number of page files removed
 * @throws PagecacheError STORE_BUSY, STORE_FULL where an entry cannot be moved
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
  await mkdir(trash, { mode: directoryMode })
  for (const name of await readdir(directory)) {
    if (name === 'pages' || isTrash(name) || isFresh(name) || isCleared(name)) continue
    try {
      await rename(join(directory, name), join(trash, name))
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  removeTrash(directory)
  return removed
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
