import { access, mkdtemp, rmdir, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { App } from '../../app.ts'
import { formatBytes } from '../../lib/format-bytes.ts'
import { plural } from '../../lib/format.ts'
import { readPages } from '../read-pages.ts'
import { attempt, failed, passed, warned, type Check, type Finding } from './finding.ts'

/** Below `failed`, pages are no longer stored and writes to the records fail; below `warned`, that is imminent. */
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

/** Creates a directory to find out, because permissions do not reveal a read-only mount. */
async function checkWritable(name: string, directory: string): Promise<Finding> {
  const existing = await nearestExisting(directory)
  try {
    await rmdir(await mkdtemp(join(existing, '.pagecache-doctor-')))
    return passed(name, existing === directory ? directory : `${directory} (created on first use)`)
  } catch (error) {
    const remedy = `Give the user that runs pagecache write access to ${existing}, or choose another --project-dir.`
    return failed(name, `${directory} is not writable: ${(error as Error).message}`, remedy)
  }
}

export const checkDisk: Check = async (app) => {
  const { bavail, bsize, ffree, files } = await statfs(await nearestExisting(app.loaded.places.dataDir))
  const free = bavail * bsize
  const remedy = 'Free disk space, lower cache.maxSize, or clear the cache.'
  const findings = [judge('free disk', free, diskFloor, `${formatBytes(free)} free`, remedy)]
  // File systems without a fixed number of inodes report 0.
  if (files > 0)
    findings.push(
      judge(
        'free inodes',
        ffree,
        inodeFloor,
        `${ffree} free`,
        'Each page is a file: clear the cache, or use a file system with more inodes.',
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

/** Whether the records exist; a check must not create a file for them. */
export async function recordsExist(app: App): Promise<boolean> {
  if (app.config.records.url !== null) return true
  return mayExist(app.loaded.places.dataDir)
}

export const checkRecords: Check = async (app) => {
  const lost = app.recordsFault()
  if (lost !== null) return [failed('records', lost.message, lost.hint!)]
  if (!(await recordsExist(app))) return [passed('records', 'none yet; created on first use')]
  return attempt('records', async () => {
    const records = await app.records()
    const [fault] = await records.check()
    if (fault === undefined)
      return [passed('records', app.config.records.url === null ? 'intact' : 'PostgreSQL answers and accepts writes')]
    return [
      failed('records', `The database is corrupt: ${fault}`, 'Stop pagecache and restore var/data from a backup.'),
    ]
  })
}

export const checkPages: Check = async (app) => {
  if (!(await mayExist(app.loaded.places.cacheDir))) return [passed('page index', 'none yet; created on first use')]
  return attempt('page index', async () => {
    const count = await readPages(app, (pages) => pages.count({ kind: 'all' }))
    return [passed('page index', `readable, ${plural(count, 'page')}`)]
  })
}

/** Compares the size of the stored pages with their limit, and the rest of the limit with the free disk space. */
export const checkPageSpace: Check = async (app) => {
  const { cacheDir } = app.loaded.places
  if (!(await mayExist(cacheDir))) return []
  return attempt('page storage', async () => {
    const [{ spaceOf }, { limit, counters }] = await Promise.all([
      import('../../pages/room.ts'),
      readPages(app, (pages) => ({ limit: pages.maxSize, counters: pages.counters() })),
    ])
    const used = Object.values(counters).reduce((sum, { size }) => sum + size, 0)
    const { bytes, floorBytes } = await spaceOf(cacheDir)
    const message = `${formatBytes(used)} of ${formatBytes(limit)}${app.config.cache.maxSize === null ? ' (automatic)' : ''}`
    if (limit - used <= bytes - floorBytes) return [passed('page storage', message)]
    return [
      warned(
        'page storage',
        `${message}, but the disk has only ${formatBytes(Math.max(0, bytes - floorBytes))} left: pages are evicted before the limit is reached.`,
        'Free disk space, or lower cache.maxSize.',
      ),
    ]
  })
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

/** A path without read permission may exist; opening it later tells. */
async function mayExist(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  )
}
