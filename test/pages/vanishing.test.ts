import { execFileSync } from 'node:child_process'
import { existsSync, renameSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { Selection } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { bodyOf, draft, openPages, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

/** Deletes a path as an operator's shell would. */
function remove(path: string): void {
  execFileSync('rm', ['-rf', path])
}

async function withOnePage() {
  const opened = await openPages()
  const removals: Selection[] = []
  opened.pages.onRemoved((selection) => removals.push(selection))
  const page = (await store(opened.pages, 'a'))!
  return { ...opened, page, removals, places: placesIn(opened.directory) }
}

describe('a running store notices vanished files and starts empty', () => {
  type Places = ReturnType<typeof placesIn>
  const losses: [string, (places: Places) => unknown][] = [
    ['the application cache directory', (places) => remove(places.directory)],
    ['the page directory', (places) => remove(places.pages)],
    ['the page directory, moved away', (places) => renameSync(places.pages, `${places.pages}-old`)],
    ['all bodies', (places) => remove(places.bodies)],
    ['the directory of temporary files', (places) => remove(places.temporary)],
    ['the index', (places) => remove(places.index)],
    ['the log beside the index', (places) => remove(`${places.index}-wal`)],
    ['the shared memory beside the index', (places) => remove(`${places.index}-shm`)],
    [
      'the index, replaced by an empty file',
      async (places) => {
        remove(places.index)
        await writeFile(places.index, '')
      },
    ],
    [
      'the index, replaced by a copy of itself',
      async (places) => {
        await copyFile(places.index, `${places.index}-copy`)
        await rename(`${places.index}-copy`, places.index)
      },
    ],
  ]
  it.each(losses)('%s', async (_, lose) => {
    const { pages, removals, places } = await withOnePage()
    const fence = pages.fence()
    await lose(places)
    await until(() => expect(removals).toContainEqual({ kind: 'all' }))
    expect(pages.find(draft('a').key)).toEqual([])
    expect(pages.counters().products.count).toBe(0)
    expect(pages.holds(fence)).toBe(false)
    expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
    const again = await store(pages, 'a')
    expect(await pages.readBody(again!)).toEqual(bodyOf('a'))
    expect((await readdir(places.pages)).includes('index.sqlite')).toBe(true)
  })

  it.each([
    ['a file stood in its place', async ({ directory }: Places) => writeFile(directory, '')],
    [
      'another store was opened in its place',
      ({ pages }: Places) => existsSync(pages) || mkdir(pages, { recursive: true }),
    ],
    ['nothing stood in its place', () => {}],
  ])('a cache directory that was moved away and back, when %s', async (_, replace) => {
    const { pages, removals, places } = await withOnePage()
    const away = `${places.directory}-away`
    renameSync(places.directory, away)
    await replace(places)
    await until(() => expect(removals).toContainEqual({ kind: 'all' }))
    await pages.remove({ kind: 'all' })
    remove(places.directory)
    renameSync(away, places.directory)
    await until(async () => expect(await store(pages, 'b')).not.toBeNull())
    expect(pages.find(draft('a').key)).toEqual([])
    // The store notices within a second; until then another one would open what is there.
    await until(async () => {
      const { pages: other } = await openPages({ directory: places.directory })
      expect(other.find(draft('a').key)).toEqual([])
    })
  })

  it('repeatedly while pages are stored, read, counted and removed', async () => {
    const { pages, places, directory } = await withOnePage()
    let ended = false
    const busy = async (offset: number) => {
      for (let n = 0; !ended; n += 1) {
        const name = `p${(n + offset) % 40}`
        const page = await store(pages, name)
        if (page !== null) await pages.readBody(page)
        pages.find(draft(name).key)
        pages.recordHits(page === null ? [] : [{ page, hits: 1, ms: 1, usedAt: 1 }])
        pages.counters()
        pages.list({ limit: 3, offset: 0 })
        if (n % 20 === 0) await pages.remove({ kind: 'tags', tags: ['all-products'] })
        if (n % 50 === 0) await pages.sweep()
      }
    }
    const work = [busy(0), busy(13), busy(27)]
    for (const path of [directory, places.pages, places.index, places.bodies, directory, places.pages]) {
      remove(path)
      await until(() => expect(existsSync(places.index) && existsSync(places.bodies)).toBe(true))
      await until(async () => expect(await store(pages, 'sign')).not.toBeNull())
    }
    ended = true
    await Promise.all(work)
    await until(async () => expect(await pages.readBody((await store(pages, 'last'))!)).toEqual(bodyOf('last')))
  })
})

describe('an unusable index is moved aside with a warning, and the store starts empty', () => {
  const faults: [string, (path: string) => unknown][] = [
    ['empty', (path) => truncate(path, 0)],
    ['no database', (path) => writeFile(path, 'not a database, but long enough to be looked at as one. '.repeat(100))],
    ['truncated', (path) => truncate(path, 5_000)],
    ['missing', (path) => rm(path)],
    [
      'a directory',
      async (path) => {
        await rm(path)
        await mkdir(path)
      },
    ],
    [
      'a link',
      async (path) => {
        await rename(path, `${path}-elsewhere`)
        await symlink(`${path}-elsewhere`, path)
      },
    ],
    ["another program's", (path) => change(path, 'PRAGMA application_id = 1')],
    ['newer', (path) => change(path, 'PRAGMA user_version = 99')],
    ['without one of its tables', (path) => change(path, 'DROP TABLE removal')],
    ['without its generation', (path) => change(path, 'DELETE FROM meta')],
  ]
  it.each(faults)('%s', async (fault, damage) => {
    const { pages, places, directory } = await withOnePage()
    await pages.close()
    await damage(places.index)
    const { pages: next, warnings } = await openPages({ directory })
    expect(next.find(draft('a').key)).toEqual([])
    expect(next.counters().products.count).toBe(0)
    expect(await next.readBody((await store(next, 'b'))!)).toEqual(bodyOf('b'))
    expect(warnings).toHaveLength(fault === 'without its generation' ? 0 : 1)
  })

  it.each(['pages', 'pages/bodies', 'pages/tmp'])('%s is a link to another directory', async (path) => {
    const { pages, directory } = await withOnePage()
    await pages.close()
    const outside = await tempDir()
    await rm(join(directory, path), { recursive: true })
    await symlink(outside, join(directory, path))
    const { pages: next } = await openPages({ directory })
    expect(await store(next, 'b')).not.toBeNull()
    expect(await readdir(outside)).toEqual([])
  })

  it('altered bytes cause neither a wrong page nor an error', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { pages, places, directory } = await withOnePage()
      for (let n = 0; n < 20; n += 1) await store(pages, `p${n}`)
      await pages.close()
      await flipBytes(places.index, round)
      const { pages: next } = await openPages({ directory })
      for (let n = 0; n < 20; n += 1) {
        for (const page of next.find(draft(`p${n}`).key)) {
          expect(page).toMatchObject({ ...draft(`p${n}`) })
          expect([null, bodyOf(`p${n}`).toString()]).toContain((await next.readBody(page))?.toString() ?? null)
        }
      }
      await next.remove({ kind: 'tags', tags: ['all-products'] })
      // The first store may be the call that detects the damage.
      await until(async () => expect(await store(next, 'after')).not.toBeNull())
      await next.close()
    }
  })
})

function change(path: string, statement: string): void {
  const database = new Database(path)
  database.exec(statement)
  database.close()
}

/** Flips one bit in each of ten bytes, chosen by round. */
async function flipBytes(path: string, round: number): Promise<void> {
  const bytes = await readFile(path)
  for (let n = 0; n < 10; n += 1) {
    const at = 100 + ((round * 7_919 + n * 104_729) % (bytes.length - 100))
    bytes[at]! ^= 1 << (n % 8)
  }
  await writeFile(path, bytes)
}

describe('a store that is not writable', () => {
  it('stores nothing while its directory cannot be created, and recovers afterwards', async () => {
    const parent = await tempDir()
    // A file in place of the directory stops even root.
    await writeFile(join(parent, 'var'), '')
    const { pages, warnings } = await openPages({ directory: join(parent, 'var', 'cache') })
    expect(await store(pages, 'a')).toBeNull()
    expect(pages.find(draft('a').key)).toEqual([])
    expect(await pages.remove({ kind: 'all' })).toBe(0)
    expect(pages.counters().products.count).toBe(0)
    expect(await pages.sweep()).toEqual({ expired: 0, orphans: 0 })
    await until(() => expect(warnings).toHaveLength(1))
    await rm(join(parent, 'var'))
    await until(async () => expect(await store(pages, 'a')).not.toBeNull())
  })
})
