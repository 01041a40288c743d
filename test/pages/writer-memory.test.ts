import { expect, it, onTestFinished, vi } from 'vitest'
import { accepted, bodyOf, draft, openPages } from '../stores/pages.ts'

/** More than is copied when the page comes. */
const large = Buffer.alloc(600_000, 'l')

/** Lets copies of the body fail as often as given. */
function failToCopy(times: number): void {
  const { concat } = Buffer
  let left = times
  const spy = vi.spyOn(Buffer, 'concat').mockImplementation((list, size) => {
    if (list[0]?.length === large.length && left-- > 0) throw new RangeError('Array buffer allocation failed')
    return concat(list, size)
  })
  onTestFinished(() => spy.mockRestore())
}

it('stores a large page for whose copy there was no memory at first', async () => {
  const { pages, warnings } = await openPages({ writer: true })
  failToCopy(1)
  const page = accepted(await pages.put(draft('a'), large, pages.fence(), false))
  expect(page.id).toBeGreaterThan(0)
  expect(warnings).toEqual([expect.stringContaining('Array buffer allocation failed')])
})

it('gives up a large page for whose copy there is no memory, and stores others', async () => {
  const { pages } = await openPages({ writer: true })
  failToCopy(Infinity)
  expect(await pages.put(draft('a'), large, pages.fence(), false)).toBe('unavailable')
  expect(pages.unstored()).toBe(1)
  expect(accepted(await pages.put(draft('b'), bodyOf('b'), pages.fence(), false)).id).toBeGreaterThan(0)
})
