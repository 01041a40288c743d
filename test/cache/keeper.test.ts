import { expect, it } from 'vitest'
import { Keeper } from '../../src/cache/keeper.ts'
import { toHeldPage } from '../../src/cache/view.ts'
import { MemoryTier } from '../../src/pages/memory-tier.ts'
import type { Page } from '../../src/pages/page.ts'
import { draft } from '../pages/draft.ts'

const fetched = { fence: { generation: '', sequence: 0 }, clock: { history: 1, number: 1 }, patient: true }

it('a renewed page that waits for Redis keeps a copy of what the next read overwrites', async () => {
  const page: Page = { ...draft('a'), id: 1, size: 100, hits: 0, hitMs: 0, usedAt: 0 }
  const buffer = Buffer.alloc(1_000, 'x')
  const written: Buffer[] = []
  const keeper = new Keeper({
    store: { freshen: async () => page, readBodyNow: () => buffer.subarray(0, 100), holds: () => true } as never,
    memory: new MemoryTier(2 ** 20),
    shared: { write: (_: Page, body: Buffer) => void written.push(body) } as never,
  })
  await keeper.freshen(toHeldPage(page, {}), page, fetched as never)
  buffer.fill('y')
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

it.each([
  ['larger than what memory takes', 2 ** 19, true],
  ['fetched while something was purged', 10, false],
])('a page that is not kept in memory does not leave an older one there: %s', (_, size, isHeld) => {
  const page: Page = { ...draft('a'), id: 1, size: 10, hits: 0, hitMs: 0, usedAt: 0 }
  const memory = new MemoryTier(2 ** 20)
  memory.set(page, 'identity', Buffer.alloc(10))
  const keeper = new Keeper({ store: { heldAtLastPoll: () => isHeld } as never, memory, shared: null })
  keeper.remember({ ...page, id: 2, size }, { identity: Buffer.alloc(size) }, {} as never, fetched.fence)
  expect(memory.get(page.key)).toBeUndefined()
})
