import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pieceSize } from '../../src/pages/piece-digests.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { accepted, bodyOf, draft, openPages, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

async function bodiesIn(directory: string): Promise<string[]> {
  const names = await readdir(placesIn(directory).bodies, { recursive: true, withFileTypes: true })
  return names.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
}

async function withOneBody() {
  const opened = await openPages()
  const page = (await store(opened.pages, 'a'))!
  const [body] = await bodiesIn(opened.directory)
  return { ...opened, page, body: body! }
}

describe('an altered body is a miss, counted as damaged and removed', () => {
  const damages: [string, (path: string, elsewhere: string) => Promise<unknown>][] = [
    [
      'bit flip',
      async (path) => {
        const bytes = await readFile(path)
        bytes[3]! ^= 1
        await writeFile(path, bytes)
      },
    ],
    ['truncated', (path) => truncate(path, 5)],
    ['longer', (path) => writeFile(path, 'more', { flag: 'a' })],
    ['shifted', async (path) => writeFile(path, Buffer.concat([Buffer.from('more'), await readFile(path)]))],
    ['empty', (path) => truncate(path, 0)],
    ['missing', (path) => rm(path)],
    ['its directory missing', (path) => rm(join(path, '..'), { recursive: true })],
    [
      'a directory in its place',
      async (path) => {
        await rm(path)
        await mkdir(path)
      },
    ],
    [
      'a link to a file with the same content',
      async (path, elsewhere) => {
        await rename(path, elsewhere)
        await symlink(elsewhere, path)
      },
    ],
  ]
  it.each(damages)('%s', async (_, damage) => {
    const { pages, page, body, directory } = await withOneBody()
    await damage(body, join(directory, 'elsewhere'))
    expect(await pages.readBody(page)).toBeNull()
    expect(pages.damaged()).toBe(1)
    expect(pages.find(page.key)).toEqual([])
    expect(pages.counters().products.count).toBe(0)
    const again = await store(pages, 'a')
    expect(await pages.readBody(again!)).toEqual(bodyOf('a'))
  })

  it('two bodies swapped', async () => {
    const { pages, directory, page, body } = await withOneBody()
    const other = (await store(pages, 'b'))!
    const path = (await bodiesIn(directory)).find((found) => found !== body)!
    await rename(body, `${directory}/swap`)
    await rename(path, body)
    await rename(`${directory}/swap`, path)
    expect(await pages.readBody(page)).toBeNull()
    expect(await pages.readBody(other)).toBeNull()
    expect(pages.damaged()).toBe(2)
  })
})

describe('a body of several pieces', () => {
  const large = Buffer.from(Array.from({ length: 40_000 }, (_, number) => `${number};`).join(''))
  const last = Math.floor((large.length - 1) / pieceSize)

  async function withLarge() {
    const opened = await openPages()
    const page = accepted(await opened.pages.put(draft('a'), large, opened.pages.fence()))
    const [body] = await bodiesIn(opened.directory)
    return { ...opened, page, body: body! }
  }

  async function flip(path: string, at: number) {
    const bytes = await readFile(path)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    await writeFile(path, bytes)
  }

  it('verifies each piece separately: an intact one is readable, a damaged one removes the page', async () => {
    const { pages, page, body } = await withLarge()
    await flip(body, pieceSize + 7)
    const open = (await pages.openBody(page))!
    const buffer = Buffer.alloc(pieceSize)
    expect(await open.read(last, buffer)).toEqual(large.subarray(last * pieceSize))
    expect(pages.damaged()).toBe(0)
    await expect(open.read(1, buffer)).rejects.toThrow()
    await open.close()
    expect([pages.damaged(), pages.find(page.key)]).toEqual([1, []])
  })

  const places: [string, number][] = [
    ['first piece', 3],
    ['last piece', large.length - 1],
    ['list of digests', large.length + 40],
    ['end of the list', large.length + (last + 1) * 32 - 1],
  ]
  it.each(places)('a bit flip in its %s: not served, counted as damaged and removed', async (_, at) => {
    const { pages, page, body } = await withLarge()
    await flip(body, at)
    expect(await pages.readBody(page)).toBeNull()
    expect([pages.damaged(), pages.find(page.key), await pages.openBody(page)]).toEqual([1, [], null])
  })

  it.each([
    ['without its list', large.length],
    ['in the middle', large.length >> 1],
    ['by a byte', large.length + (last + 1) * 32 - 1],
  ])('truncated %s: not opened', async (_, size) => {
    const { pages, page, body } = await withLarge()
    await truncate(body, size)
    expect(await pages.openBody(page)).toBeNull()
    expect([pages.damaged(), pages.find(page.key)]).toEqual([1, []])
  })

  it('two pieces swapped, or another body with its own list: not served', async () => {
    const { pages, directory, page, body } = await withLarge()
    const bytes = await readFile(body)
    await writeFile(
      body,
      Buffer.concat([
        bytes.subarray(pieceSize, 2 * pieceSize),
        bytes.subarray(0, pieceSize),
        bytes.subarray(2 * pieceSize),
      ]),
    )
    expect(await pages.readBody(page)).toBeNull()
    const again = accepted(await pages.put(draft('a'), large, pages.fence()))
    const other = Buffer.from(large.map((byte) => byte ^ 1))
    await pages.put(draft('b'), other, pages.fence())
    // A body without a page is removed in the background.
    const read = await until(async () => {
      const files = await bodiesIn(directory)
      return Promise.all(files.map(async (path) => ({ path, bytes: await readFile(path) })))
    })
    const own = read.find((file) => file.bytes.subarray(0, large.length).equals(large))!
    await writeFile(own.path, read.find((file) => file.bytes.subarray(0, large.length).equals(other))!.bytes)
    expect(await pages.readBody(again)).toBeNull()
  })
})

describe('files', () => {
  it('does not write through a link in place of a shard directory', async () => {
    const { pages, page, body } = await withOneBody()
    const outside = await tempDir()
    await rm(join(body, '..'), { recursive: true })
    await symlink(outside, join(body, '..'))
    expect(await pages.readBody(page)).toBeNull()
    const again = await store(pages, 'a')
    expect(await pages.readBody(again!)).toEqual(bodyOf('a'))
    expect(await readdir(outside)).toEqual([])
  })

  it('a replaced page leaves neither its body nor a temporary file', async () => {
    const { pages, directory, body } = await withOneBody()
    await store(pages, 'a')
    await until(() => expect(existsSync(body)).toBe(false))
    expect(await bodiesIn(directory)).toHaveLength(1)
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('a page refused by its fence leaves no file', async () => {
    const { pages, directory } = await openPages()
    const fence = pages.fence()
    await pages.remove({ kind: 'type', type: 'products' })
    expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
    expect(await bodiesIn(directory)).toEqual([])
    expect(await readdir(placesIn(directory).temporary)).toEqual([])
  })

  it('the files of removed pages are deleted', async () => {
    const { pages, directory } = await openPages()
    for (let n = 0; n < 200; n += 1) await store(pages, `p${n}`, { tags: n % 2 === 0 ? ['even'] : [] })
    await pages.remove({ kind: 'tags', tags: ['even'] })
    await until(async () => expect((await bodiesIn(directory)).length).toBe(100))
    await pages.remove({ kind: 'type', type: 'products' })
    await until(async () => expect((await bodiesIn(directory)).length).toBe(0))
  })

  it('a sweep removes orphaned bodies that no writer can still be working on', async () => {
    const { pages, directory, body, page } = await withOneBody()
    const shard = join(body, '..')
    const old = join(shard, `${'0'.repeat(32)}.00000000`)
    const odd = join(shard, 'notes.txt')
    const young = join(shard, `${'1'.repeat(32)}.00000000`)
    const unfinished = join(placesIn(directory).temporary, 'abc')
    const longAgo = new Date(Date.now() - 120_000)
    for (const path of [old, odd, young, unfinished]) await writeFile(path, 'x')
    for (const path of [old, odd, unfinished, body]) await utimes(path, longAgo, longAgo)
    expect(await pages.sweep()).toEqual({ expired: 0, orphans: 2 })
    expect([old, odd, young, unfinished, body].map((path) => existsSync(path))).toEqual([
      false,
      false,
      true,
      false,
      true,
    ])
    expect(await pages.readBody(page)).toEqual(bodyOf('a'))
  })
})

it('directories are 0700 and files 0600 with any umask', async () => {
  const before = process.umask(0)
  try {
    const { pages, directory } = await openPages()
    await store(pages, 'a')
    const { stat } = await import('node:fs/promises')
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    expect(entries.length).toBeGreaterThan(6)
    for (const entry of entries) {
      const { mode } = await stat(join(entry.parentPath, entry.name))
      expect([entry.name, (mode & 0o777).toString(8)]).toEqual([entry.name, entry.isDirectory() ? '700' : '600'])
    }
  } finally {
    process.umask(before)
  }
})
