import { expect, it, onTestFinished } from 'vitest'
import { openPages } from '../../src/pages/clear.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('releases many traces together, in slices', async () => {
  const index = openPages(placesIn(await tempDir()), () => {})
  onTestFinished(() => index.close())
  const pages = Array.from({ length: 2_500 }, (_, n) => n + 1)
  index.write(() => {
    for (const [number, trace] of [16, 32, 48].entries()) {
      index.traces.open([trace], 1, null)
      const own = pages.map((id) => id + number * pages.length)
      if (trace === 48) index.writes.stalen(own.slice(0, 10), 1, { trace, value: 0 })
      else index.writes.kill(own, { trace, value: 0 })
    }
  })
  const releases: boolean[] = []
  do releases.push(index.write(() => index.traces.release([16, 32])))
  while (releases.at(-1))
  expect(releases.length).toBeGreaterThan(2)
  expect(index.traces.abandoned(2)).toEqual([48])
  expect(index.write(() => index.traces.release([48]))).toBe(false)
  expect(index.traces.abandoned(2)).toEqual([])
})
