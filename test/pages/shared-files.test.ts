import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { BodyFiles, newBodyFile } from '../../src/pages/body-files.ts'
import { openPages as openIndex } from '../../src/pages/clear.ts'
import type { PageDraft } from '../../src/pages/page.ts'
import type { NewPage, PageStore } from '../../src/pages/page-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { until } from '../helpers/until.ts'
import { accepted, draft, openPages } from '../stores/pages.ts'

const bytes = 1_000

/** The body of a page, which differs from that of any other. */
function bodyOf(name: string): Buffer {
  return Buffer.from(name.padEnd(bytes, '.'))
}

const names = Array.from({ length: 20 }, (_, n) => `p${n}`)

/** Stores pages in one transaction, as a writer thread does. */
async function storeTogether(pages: PageStore, changes: (name: string) => Partial<PageDraft> = () => ({})) {
  const file = newBodyFile('a key')
  const group = names.map((name): NewPage => ({
    draft: draft(name, changes(name)),
    body: bodyOf(name),
    fence: pages.fence(),
    file,
  }))
  return (await pages.writeTogether(group)).map(accepted)
}

async function filesIn(directory: string): Promise<string[]> {
  const { bodies } = placesIn(directory)
  const entries = await readdir(bodies, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** The pages whose bodies can be read, each with its own. */
async function readable(pages: PageStore): Promise<string[]> {
  const found: string[] = []
  for (const name of names) {
    const [page] = pages.find(draft(name).key)
    const body = page === undefined ? null : await pages.readBody(page)
    if (body === null) continue
    expect(body).toEqual(bodyOf(name))
    found.push(name)
  }
  return found
}

const odd = (name: string) => Number(name.slice(1)) % 2 === 1
const mostly = (name: string) => Number(name.slice(1)) % 5 > 0

describe('the bodies of pages that are stored together', () => {
  it('share a file and are read one by one, as a whole and in pieces', async () => {
    const { pages, directory } = await openPages()
    const stored = await storeTogether(pages)
    expect(await filesIn(directory)).toHaveLength(1)
    expect(await readable(pages)).toEqual(names)
    expect(pages.readBodyNow(stored[7]!)).toEqual(bodyOf('p7'))
    const opened = (await pages.openBody(stored[19]!))!
    expect(await opened.read(0, Buffer.alloc(64 * 1024))).toEqual(bodyOf('p19'))
    await opened.close()
    expect(pages.counters().products.size).toBe(names.length * bytes)
  })

  it('share a file when a warmup fetches them at the same time', async () => {
    const { pages, directory } = await openPages({ writer: true })
    // The first one starts the writer thread.
    await pages.put(draft('first'), bodyOf('first'), pages.fence())
    const warm = async (name: string) => {
      await pause(20)
      return pages.put(draft(name), bodyOf(name), pages.fence())
    }
    await Promise.all(names.map((name) => pages.announce(warm(name))))
    expect(await readable(pages)).toEqual(names)
    // One besides the first, unless a busy machine delays some of them for longer than the store waits.
    expect((await filesIn(directory)).length).toBeLessThan(names.length / 2)
  })

  it('are verified one by one: damage to one is a miss of that page alone', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    const [file] = await filesIn(directory)
    const content = await readFile(file!)
    content[3 * bytes + 1]! ^= 1
    await writeFile(file!, content)
    expect(await readable(pages)).toEqual(names.filter((name) => name !== 'p3'))
    expect(pages.damaged()).toBe(1)
  })

  it('in a file that a power cut has torn are misses', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    await truncate((await filesIn(directory))[0]!, 12 * bytes + 5)
    const found = await readable(pages)
    // Those before the tear, unless they were moved to another file meanwhile, because the file had few live pages left.
    expect(found.filter((name) => Number(name.slice(1)) >= 12)).toEqual([])
    expect(found.length).toBeLessThan(12)
    expect(pages.damaged()).toBe(20 - found.length)
  })

  it('in exchanged order are all misses', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    const [file] = await filesIn(directory)
    const content = await readFile(file!)
    const pieces = names.map((_, at) => content.subarray(at * bytes, (at + 1) * bytes))
    await writeFile(file!, Buffer.concat(pieces.toReversed()))
    expect(await readable(pages)).toEqual([])
  })

  it('that a purge meanwhile selects are not stored, the others are', async () => {
    const { pages } = await openPages()
    const before = pages.fence()
    await pages.remove({ kind: 'tags', tags: ['odd'] })
    const file = newBodyFile('a key')
    const group = names.map((name) => ({
      draft: draft(name, { tags: odd(name) ? ['odd'] : [] }),
      body: bodyOf(name),
      fence: before,
      file,
    }))
    const outcomes = await pages.writeTogether(group)
    expect(names.filter((_, at) => outcomes[at] === 'invalidated')).toEqual(names.filter(odd))
    expect(await readable(pages)).toEqual(names.filter((name) => !odd(name)))
  })
})

describe('the space of removed pages', () => {
  it('is given back with the last page of a file', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    for (const name of names) await pages.remove({ kind: 'tags', tags: [`product-${name}`] })
    await until(async () => expect(await filesIn(directory)).toEqual([]))
  })

  it('is given back by moving the remaining bodies to another file, which all processes read', async () => {
    const { pages, directory } = await openPages()
    const { pages: others } = await openPages({ directory })
    await storeTogether(pages, (name) => ({ tags: mostly(name) ? ['most'] : ['few'] }))
    expect(await pages.remove({ kind: 'tags', tags: ['most'] })).toBe(16)
    await until(async () => {
      const files = await filesIn(directory)
      expect(files).toHaveLength(1)
      expect((await stat(files[0]!)).size).toBe(4 * bytes)
    })
    const left = names.filter((name) => !mostly(name))
    expect(await readable(pages)).toEqual(left)
    expect(await readable(others)).toEqual(left)
    expect(pages.damaged() + others.damaged()).toBe(0)
    expect(await pages.remove({ kind: 'tags', tags: ['few'] })).toBe(4)
    await until(async () => expect(await filesIn(directory)).toEqual([]))
  })

  it('is given back although a removal is still to be read for the log', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    await pages.remove({ kind: 'tags', tags: ['all-products'] }, { trace: 7 })
    expect(await pages.taken(7, 0, 100)).toHaveLength(20)
    await pages.release([7])
    await until(async () => expect(await filesIn(directory)).toEqual([]))
  })

  it('is not given back while others of its file are left: a page that is compressed again or replaced leaves alone', async () => {
    const { pages } = await openPages()
    const content = gzipSync(Buffer.from('x'.repeat(3_000)), { level: 1 })
    const file = newBodyFile('a key')
    const fence = pages.fence()
    const coded = { encoding: 'gzip', originalSize: 3_000 } as const
    const [one, two, three] = (
      await pages.writeTogether([
        { draft: draft('one', coded), body: content, fence, file },
        { draft: draft('two'), body: bodyOf('two'), fence, file },
        { draft: draft('three'), body: bodyOf('three'), fence, file },
      ])
    ).map(accepted)
    expect((await pages.recode(one!))!.size).toBeLessThan(content.length)
    expect(await pages.put(draft('two'), Buffer.from('newer'), pages.fence())).toHaveProperty('id')
    await pages.sweep()
    expect(await pages.readBody(two!)).toBeNull()
    expect(await pages.readBody(three!)).toEqual(bodyOf('three'))
    expect(pages.damaged()).toBe(0)
  })

  it('is given back by the next clean-up after a process was killed between its steps', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages, (name) => ({ tags: mostly(name) ? ['most'] : ['few'] }))
    await pages.close()
    // The rows of the dead pages are gone already.
    const index = openIndex(placesIn(directory), console.warn)
    index.write(() => {
      const ids = index.choices
        .knownTags(['most'])
        .flatMap(({ id }) => index.choices.tagged(id, 0, 100).map((page) => page.id))
      index.writes.kill(ids)
      index.choices.drop(ids)
    })
    index.close()
    const { pages: after } = await openPages({ directory })
    await after.sweep()
    await until(async () => expect((await stat((await filesIn(directory))[0]!)).size).toBe(4 * bytes))
    expect(await readable(after)).toEqual(names.filter((name) => !mostly(name)))
  })

  it('is given back once pages that were compressed again have left their file', async () => {
    const { pages, directory } = await openPages()
    const content = gzipSync(Buffer.from('x'.repeat(30_000)), { level: 1 })
    const file = newBodyFile('a key')
    const fence = pages.fence()
    const coded = { encoding: 'gzip', originalSize: 30_000 } as const
    const stored = (
      await pages.writeTogether(names.map((name) => ({ draft: draft(name, coded), body: content, fence, file })))
    ).map(accepted)
    for (const page of stored.slice(0, 15)) expect(await pages.recode(page)).not.toBeNull()
    await until(async () => {
      const sizes = await Promise.all((await filesIn(directory)).map(async (path) => (await stat(path)).size))
      const total = sizes.reduce((sum, size) => sum + size, 0)
      expect(total * 0.75).toBeLessThanOrEqual(pages.counters().products.size)
    })
    for (const page of stored.slice(15)) expect(await pages.readBody(page)).toEqual(content)
  })

  it('without its files is noticed at the next use', async () => {
    const { pages, directory } = await openPages()
    await storeTogether(pages)
    await rm((await filesIn(directory))[0]!)
    expect(await readable(pages)).toEqual([])
    expect(pages.damaged()).toBe(20)
    expect(pages.counters().products.count).toBe(0)
  })
})

describe('an empty body', () => {
  it('keeps its file, alone and with pages that are removed', async () => {
    const { pages } = await openPages()
    const fence = pages.fence()
    const redirect = accepted(await pages.put(draft('alone'), Buffer.alloc(0), fence))
    const file = newBodyFile('a key')
    const [other] = (
      await pages.writeTogether([
        { draft: draft('empty', { tags: ['kept'] }), body: Buffer.alloc(0), fence, file },
        { draft: draft('full', { tags: ['gone'] }), body: bodyOf('full'), fence, file },
      ])
    ).map(accepted)
    expect(await pages.remove({ kind: 'tags', tags: ['gone'] })).toBe(1)
    await pages.sweep()
    expect(await pages.readBody(redirect)).toEqual(Buffer.alloc(0))
    expect(await pages.readBody(other!)).toEqual(Buffer.alloc(0))
    expect(pages.damaged()).toBe(0)
  })
})

it('a body is read although it moves to another file meanwhile', async () => {
  const { pages, directory } = await openPages()
  const stored = await storeTogether(pages)
  const page = stored[7]!
  const bodies = new BodyFiles(placesIn(directory))
  const reading = pages.readBody(page)
  const opening = pages.openBody(page)
  const index = openIndex(placesIn(directory), console.warn)
  const { file } = index.reads.body(page)!
  const written = bodies.write(newBodyFile('a key'), [bodyOf('p7')])
  index.write(() => {
    index.writes.relocate(page.id, file, written.bodies[0]!)
    bodies.place(written)
  })
  index.close()
  expect(await reading).toEqual(bodyOf('p7'))
  const opened = await opening
  expect(await opened?.read(0, Buffer.alloc(64 * 1024))).toEqual(bodyOf('p7'))
  await opened?.close()
})
