import { expect, it } from 'vitest'
import { Keeper } from '../../src/cache/keeper.ts'
import { toHeldPage } from '../../src/cache/view.ts'
import { Slab } from '../../src/lib/buffers.ts'
import { MemoryTier } from '../../src/pages/memory-tier.ts'
import type { Page } from '../../src/pages/page.ts'
import { draft } from '../pages/draft.ts'

const fetched = { fence: { generation: '', sequence: 0 }, clock: { history: 1, number: 1 }, patient: true }

it('a renewed page that waits for Redis does not keep the slab that it was read into', async () => {
  const page: Page = { ...draft('a'), id: 1, size: 100, hits: 0, hitMs: 0, usedAt: 0 }
  const reads = new Slab(2 ** 18)
  const written: Buffer[] = []
  const keeper = new Keeper({
    store: { freshen: async () => page, readBodyNow: () => reads.next(100).fill('x'), holds: () => true } as never,
    memory: new MemoryTier(2 ** 20),
    shared: { write: (_: Page, body: Buffer) => void written.push(body) } as never,
  })
  await keeper.freshen(toHeldPage(page, {}), page, fetched as never)
  expect(written.map((body) => [body.toString(), body.buffer.byteLength])).toEqual([['x'.repeat(100), 100]])
})

it.each([true, false])(
  'a page is given to other nodes unless it was purged while it was fetched (held: %s)',
  async (held) => {
    const page: Page = { ...draft('a'), id: -1, size: 3, hits: 0, hitMs: 0, usedAt: 0 }
    const written: string[] = []
    const keeper = new Keeper({
      store: { take: async () => page, holds: () => held, heldAtLastPoll: () => true } as never,
      memory: new MemoryTier(2 ** 20),
      shared: { write: (_: Page, body: Buffer) => void written.push(body.toString()) } as never,
    })
    expect(await keeper.keep(page, Buffer.from('old'), { ...fetched, patient: false })).toBe(page)
    expect(written).toEqual(held ? ['old'] : [])
  },
)
