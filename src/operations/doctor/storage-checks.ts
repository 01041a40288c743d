import { access, mkdtemp, rmdir, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { App } from '../../app.ts'
import { PagecacheError } from '../../errors.ts'
import { formatBytes } from '../../lib/format-bytes.ts'
import { plural } from '../../lib/plural.ts'
import { readPages } from '../read-pages.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'

/** Below the first, pages pass by unstored and records fail; below the second that day is near. */
const diskFloor = { failed: 64 * 1024 ** 2, warned: 1024 ** 3 }
const inodeFloor = { failed: 1000, warned: 50_000 }

export const checkDirectories: Check = async (app) => {
  const { projectDir, cacheDir, dataDir } = app.loaded.places
  const named = [
    ['project directory', projectDir],
    ['cache directory', cacheDir],
    ['data directory', dataDir],
  ] as const
  return Promise.all(named.map(([name, directory]) => checkWritable(name, directory)))
}

/** Writable means that something can be made in it now; permissions alone say nothing about read-only mounts. */
async function checkWritable(name: string, directory: string): Promise<Finding> {
  const existing = await nearestExisting(directory)
  try {
    await rmdir(await mkdtemp(join(existing, '.pagecache-doctor-')))
    return passed(name, existing === directory ? directory : `${directory} (made at first use)`)
  } catch (error) {
    const remedy = `Give the user that runs pagecache the right to write in ${existing}, or name another --project-dir.`
    return failed(name, `${directory} is not writable: ${(error as Error).message}`, remedy)
  }
}

export const checkDisk: Check = async (app) => {
  const { bavail, bsize, ffree, files } = await statfs(await nearestExisting(app.loaded.places.dataDir))
  const free = bavail * bsize
  const remedy = 'Make room, set a smaller cache.maxSize, or clear the cache.'
  const findings = [judge('free disk', free, diskFloor, `${formatBytes(free)} free`, remedy)]
  // Some file systems have no fixed number of inodes and say 0.
  if (files > 0)
    findings.push(
      judge(
        'free inodes',
        ffree,
        inodeFloor,
        `${ffree} free`,
        'Every page is a file: clear the cache, or use a file system with more inodes.',
      ),
    )
  return findings
}

function judge(
  name: string,
  value: number,
  floor: { failed: number; warned: number },
  message: string,
  remedy: string,
): Finding {
  if (value < floor.failed) return failed(name, message, remedy)
  return value < floor.warned ? warned(name, message, remedy) : passed(name, message)
}

/** Whether there are records to look at; a check makes none. */
export async function recordsExist(app: App): Promise<boolean> {
  return mayExist(app.loaded.places.dataDir)
}

export const checkRecords: Check = async (app) => {
  const lost = await app.recordsFault()
  if (lost !== null) return [failed('records', lost.message, lost.hint!)]
  if (!(await recordsExist(app))) return [passed('records', 'none yet; made at first use')]
  return attempt('records', async () => {
    const records = await app.records()
    const [fault] = await records.check()
    if (fault === undefined) return passed('records', 'sound')
    return failed('records', `The database is damaged: ${fault}`, 'Stop pagecache and restore var/data from a backup.')
  })
}

export const checkPages: Check = async (app) => {
  if (!(await mayExist(app.loaded.places.cacheDir))) return [passed('page index', 'none yet; made at first use')]
  return attempt('page index', async () => {
    const count = await readPages(app, (pages) => pages.count({ kind: 'all' }))
    return passed('page index', `readable, ${plural(count, 'page')}`)
  })
}

/** How much pages take of what they may take, and whether the disk leaves them as much. */
export const checkPageSpace: Check = async (app) => {
  const { cacheDir } = app.loaded.places
  if (!(await mayExist(cacheDir))) return []
  return attempt('page storage', async () => {
    const [{ automaticLimit, spaceOf }, counters] = await Promise.all([
      import('../../pages/room.ts'),
      readPages(app, (pages) => pages.counters()),
    ])
    const used = Object.values(counters).reduce((sum, { size }) => sum + size, 0)
    const { maxSize } = app.config.cache
    const limit = maxSize ?? (await automaticLimit(cacheDir, used))
    const { bytes, floorBytes } = await spaceOf(cacheDir)
    const message = `${formatBytes(used)} of ${formatBytes(limit)}${maxSize === null ? ' (automatic)' : ''}`
    if (limit - used <= bytes - floorBytes) return passed('page storage', message)
    return warned(
      'page storage',
      `${message}, but only ${formatBytes(Math.max(0, bytes - floorBytes))} more fit: pages are evicted before the limit.`,
      'Make room, or set a smaller cache.maxSize.',
    )
  })
}

async function attempt(name: string, check: () => Promise<Finding>): Promise<Finding[]> {
  try {
    return [await check()]
  } catch (error) {
    const hint = error instanceof PagecacheError ? error.hint : null
    return [
      failed(
        name,
        (error as Error).message,
        hint ?? 'The message names what is in the way; mend that, and run pagecache doctor again.',
      ),
    ]
  }
}

async function nearestExisting(path: string): Promise<string> {
  return (await exists(path)) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** What we have no right to look at may well be there: opening it finds out. */
async function mayExist(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  )
}
