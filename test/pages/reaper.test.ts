import { readdir } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { BodyFiles, newBodyFile, type WrittenFile } from '../../src/pages/body-files.ts'
import { openPages as openIndex } from '../../src/pages/clear.ts'
import type { PageIndex } from '../../src/pages/page-index.ts'
import { placesIn } from '../../src/pages/places.ts'
import { Reaper } from '../../src/pages/reaper.ts'
import { Room } from '../../src/pages/room.ts'
import { SharedIndex } from '../../src/pages/shared-index.ts'
import { openDeadPages } from '../helpers/dead-pages.ts'
import { accepted, aMoment, bodyOf, draft, openPages } from '../stores/pages.ts'

const diskFull = Object.assign(new Error('no space'), { code: 'ENOSPC' })

class FullDisk extends BodyFiles {
  override write(): WrittenFile {
    throw diskFull
  }
}

/** A file of three bodies of which one page is left. */
async function openThin() {
  const { pages, directory } = await openPages()
  const file = newBodyFile('a key')
  const fence = pages.fence()
  const [left] = (
    await pages.writeTogether(
      ['left', 'b', 'c'].map((name) => ({ draft: draft(name), body: bodyOf(name), fence, file })),
    )
  ).map(accepted)
  await pages.close()
  const places = placesIn(directory)
  const index = openIndex(places, console.warn)
  const gone = index.files.pages(file).filter(({ id }) => id !== left!.id)
  index.write(() => {
    index.writes.kill(gone.map(({ id }) => id))
    index.choices.drop(gone.map(({ id }) => id))
  })
  index.close()
  const shared = new SharedIndex({ places, onWarning: () => {}, patience: 50, known: null })
  onTestFinished(() => shared.close())
  return { places, shared, directory, file, left: left! }
}

function reaperOf(
  { shared, directory, places }: Pick<Awaited<ReturnType<typeof openThin>>, 'shared' | 'directory' | 'places'>,
  bodies: BodyFiles,
): Reaper {
  const room = new Room({ shared, bodies: new BodyFiles(places), directory, now: () => aMoment, onWarning: () => {} })
  return new Reaper({ shared, bodies, room })
}

it('a clean-up goes on where a thin file cannot be rewritten for lack of space', async () => {
  const thin = await openThin()
  const reaper = reaperOf(thin, new FullDisk(thin.places))
  await reaper.consider(thin.file)
  expect(await reaper.rewriteNext()).toBe(false)
})

it('a rewritten file whose rows could not be committed is removed', async () => {
  const thin = await openThin()
  const { shared } = thin
  const reaper = reaperOf(thin, new BodyFiles(thin.places))
  await reaper.consider(thin.file)
  const write = shared.write.bind(shared)
  shared.write = (work) =>
    write((index: PageIndex) => {
      const { write: begin } = index
      index.write = (inside) =>
        begin.call(index, () => {
          inside()
          throw diskFull
        }) as never
      try {
        return work(index)
      } finally {
        index.write = begin
      }
    })
  await reaper.rewriteNext()
  const entries = await readdir(thin.places.bodies, { recursive: true, withFileTypes: true })
  expect(entries.filter((entry) => entry.isFile())).toHaveLength(1)
})

it('a slice ends early on a slow disk, and leaves no row without its file', async () => {
  const dead = await openDeadPages(5)
  const { shared, places, bodies } = dead
  const reaper = reaperOf(dead, bodies)
  const left = async () => ({
    rows: shared.read(0, (index) => index.choices.dead(10).length),
    files: (await readdir(places.bodies, { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
      .length,
  })
  expect(await reaper.slice()).toBe(true)
  expect(await left()).toEqual({ rows: 3, files: 3 })
  while (await reaper.slice());
  expect(await left()).toEqual({ rows: 0, files: 0 })
})

it('files to be rewritten go first where no more of them can be remembered', async () => {
  const { pages, directory } = await openPages()
  const fence = pages.fence()
  const files = Array.from({ length: 1_000 }, (_, n) => newBodyFile(`key ${n}`))
  const group = files.flatMap((file, n) =>
    ['left', 'gone'].map((what) => ({ draft: draft(`${what}${n}`), body: bodyOf(what), fence, file })),
  )
  const stored = (await pages.writeTogether(group)).map(accepted)
  await pages.close()
  const places = placesIn(directory)
  const shared = new SharedIndex({ places, onWarning: () => {}, patience: 50, known: null })
  onTestFinished(() => shared.close())
  const gone = stored.filter((_, at) => at % 2 === 1).map(({ id }) => id)
  await shared.write((index) => index.write(() => index.writes.kill(gone)))
  const dead = () => shared.read(0, (index) => index.counters.deadSize())
  const reaper = reaperOf({ places, shared, directory }, new BodyFiles(places))
  for (const file of files) await reaper.consider(file)
  const [waiting, unneeded] = [dead(), reaper.unneeded]
  expect(unneeded).toBe(waiting)
  for (let n = 0; n < 10; n += 1) expect(await reaper.slice()).toBe(true)
  expect(dead()).toBe(waiting)
  expect(reaper.unneeded).toBe((unneeded * 990) / 1_000)
  while (await reaper.slice());
  expect([dead(), reaper.unneeded]).toEqual([0, 0])
})

it('a row that was altered keeps its wrong seal when its body moves', async () => {
  const thin = await openThin()
  const { shared, file, left } = thin
  const { default: Database } = await import('better-sqlite3')
  const database = new Database(thin.places.index)
  database.prepare("UPDATE page SET url = url || 'x' WHERE id = ?").run(left.id)
  database.close()
  const reaper = reaperOf(thin, new BodyFiles(thin.places))
  await reaper.consider(file)
  await reaper.rewriteNext()
  expect(shared.read([], (index) => index.reads.find(left.key, aMoment)).map(({ url }) => url)).toEqual([])
})

it('a page that is cleaned up leaves no links of its tags, even if they changed', async () => {
  const { pages, directory } = await openPages()
  const fence = pages.fence()
  const stored = async (name: string) =>
    accepted(await pages.put(draft(name, { tags: ['before', 'before', name] }), bodyOf(name), fence))
  const [gone, left] = [await stored('gone'), await stored('left')]
  accepted(await pages.freshen(gone, draft('gone', { tags: ['after', 'gone'] }), fence))
  await pages.close()
  const index = openIndex(placesIn(directory), console.warn)
  onTestFinished(() => index.close())
  const tags = index.choices.knownTags(['before', 'after', 'gone', 'left'])
  const links = () => tags.map(({ id }) => index.choices.tagged(id, 0, 10).map((page) => page.id))
  expect(links()).toEqual([[left.id], [gone.id], [gone.id], [left.id]])
  index.write(() => index.choices.drop([gone.id]))
  expect(links()).toEqual([[left.id], [], [], [left.id]])
})
