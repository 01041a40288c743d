import { expect, it, onTestFinished } from 'vitest'
import { openPages } from '../../src/pages/clear.ts'
import type { PageIndex } from '../../src/pages/page-index.ts'
import { placesIn } from '../../src/pages/places.ts'
import { fillPages, pagesOfTag } from '../../bench/lib/fill-pages.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** An index with pages; their numbers, by the number of their tag. */
async function openFilled(tags: number): Promise<{ index: PageIndex; pages: number[][] }> {
  const directory = await tempDir()
  fillPages(directory, tags)
  const index = openPages(placesIn(directory), () => {})
  onTestFinished(() => index.close())
  const names = Array.from({ length: tags }, (_, number) => `tag-${number}`)
  const pages = index.choices
    .knownTags(names)
    .map(({ id }) => index.choices.tagged(id, 0, pagesOfTag).map((page) => page.id))
  return { index, pages }
}

function toPages(ids: readonly number[]): { id: number }[] {
  return ids.map((id) => ({ id }))
}

function bury(index: PageIndex, pages: readonly number[][], traces: readonly number[]): void {
  index.write(() => {
    index.traces.open(traces, 1, null)
    for (const [place, trace] of traces.entries()) index.writes.bury(toPages(pages[place]!), { trace, value: 0 })
  })
}

function reapable(index: PageIndex, limit = 1_000): number[] {
  return index.choices.dead(limit).map(({ id }) => id)
}

it('keeps the pages of a removal until its trace is released', async () => {
  const { index, pages } = await openFilled(4)
  bury(index, pages, [16, 32, 48])
  index.write(() => index.writes.kill(pages[3]!))
  expect(reapable(index)).toEqual(pages[3])
  index.write(() => index.traces.release([16, 48]))
  expect(reapable(index).toSorted((a, b) => a - b)).toEqual([pages[0], pages[2], pages[3]].flat())
  expect(index.traces.taken(32, 0, 1_000)?.map(({ id }) => id)).toEqual(pages[1])
  expect(index.traces.unreleased(Infinity)).toEqual([32])
  expect(reapable(index, pagesOfTag + 1)).toHaveLength(pagesOfTag + 1)
})

it('releases the stale pages of a trace in slices', async () => {
  const { index, pages } = await openFilled(250)
  index.write(() => {
    index.traces.open([16, 32], 1, null)
    index.writes.stalen(toPages(pages.flat().slice(10)), 1, { trace: 16, value: 0 })
    index.writes.stalen(toPages(pages[0]!), 1, { trace: 32, value: 0 })
  })
  expect(index.write(() => index.traces.release([16, 32]))).toBe(true)
  expect(index.traces.unreleased(Infinity)).toEqual([16, 32])
  expect(index.write(() => index.traces.release([16, 32]))).toBe(false)
  expect(index.traces.unreleased(Infinity)).toEqual([])
  expect(index.traces.taken(32, 0, 1_000)).toBeNull()
})
