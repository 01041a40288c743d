import { expect, it } from 'vitest'
import { Lease, readClocks } from '../../src/cluster/lease.ts'
import type { Purge } from '../../src/cluster/ledger.ts'
import { RecentPurges } from '../../src/cluster/recent-purges.ts'
import { applyRemovals, type Removal } from '../../src/cluster/removal.ts'
import { toMatcher } from '../../src/purge/pattern.ts'
import { openPages, origin, store } from '../stores/pages.ts'

it.each<[string, readonly Removal[], string[]]>([
  ['tags', [{ kind: 'tags', tags: ['red'] }], ['/b', '/c']],
  ['URLs', [{ kind: 'urls', urls: [`${origin}/b`] }], ['/a', '/c']],
  ['a type', [{ kind: 'type', type: 'cms' }], ['/a', '/b']],
  ['a pattern', [{ kind: 'pattern', pattern: '^/[ab]$' }], ['/c']],
  ['everything', [{ kind: 'all' }], []],
  [
    'several',
    [
      { kind: 'tags', tags: ['red'] },
      { kind: 'urls', urls: [`${origin}/c`] },
    ],
    ['/b'],
  ],
])('removes the pages of a purge on another node by %s', async (_, removals, left) => {
  const { pages } = await openPages()
  await store(pages, 'a', { url: `${origin}/a`, type: 'products', tags: ['red'] })
  await store(pages, 'b', { url: `${origin}/b`, type: 'products', tags: [] })
  await store(pages, 'c', { url: `${origin}/c`, type: 'cms', tags: [] })
  const fence = pages.fence()
  await applyRemovals({ pages, toMatcher }, removals)
  const paths = pages.list({ limit: 10, offset: 0, sort: 'url' }).items.map(({ url }) => url.slice(origin.length))
  expect(paths).toEqual(left)
  expect(pages.holds(fence)).toBe(false)
})

it('marks pages as stale where the purge is soft', async () => {
  const { pages } = await openPages()
  await store(pages, 'a', { url: `${origin}/a`, tags: ['red'] })
  const [before] = pages.findByUrl(`${origin}/a`)
  await applyRemovals({ pages, toMatcher }, [{ kind: 'tags', tags: ['red'], soft: true }])
  const [after] = pages.findByUrl(`${origin}/a`)
  expect(after!.staleAt).toBeLessThan(before!.staleAt)
})

it('admits a page of another node only if no purge since its fetch selects it, and only under a lease', async () => {
  const purges: Purge[] = ['red', 'blue', 'green'].map((tag, index) => {
    return { number: 11 + index, store: '', removals: [{ kind: 'tags', tags: [tag] }] }
  })
  const lease = new Lease()
  const recent = new RecentPurges(lease, {
    read: async (after) => ({
      identity: 'one',
      last: 13,
      floor: 10,
      purges: purges.filter((each) => each.number > after),
    }),
  })
  const page = { url: `${origin}/a`, type: 'products', tags: ['blue'] } as const
  lease.position = 13
  expect([recent.now(), await recent.admits(13, page)]).toEqual([null, false])
  lease.grant(readClocks(), 60_000, 0)
  expect(recent.now()).toBe(13)
  expect(await Promise.all([9, 10, 11, 12, 13].map((at) => recent.admits(at, page)))).toEqual([
    false,
    false,
    false,
    true,
    true,
  ])
})
