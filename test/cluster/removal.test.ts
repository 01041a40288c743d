import { expect, it } from 'vitest'
import { historyOf, Lease, readClocks } from '../../src/cluster/lease.ts'
import type { Purge } from '../../src/cluster/ledger.ts'
import { OutsideClock } from '../../src/cluster/outside-clock.ts'
import { RecentPurges } from '../../src/cluster/recent-purges.ts'
import { applyRemovals, type Removal } from '../../src/cluster/removal.ts'
import { toMatcher } from '../../src/purge/pattern.ts'
import { until } from '../helpers/until.ts'
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

/** The clock of a process with a lease, and the purges that its database has. */
function openClock() {
  const purges: Purge[] = []
  const database = { identity: 'one', last: 13, floor: 10, question: 0, purges }
  const lease = new Lease()
  const recent = new RecentPurges(lease, {
    read: async (after) => ({ ...database, purges: database.purges.filter((each) => each.number > after) }),
  })
  const page = { url: `${origin}/a`, type: 'products', tags: ['blue'] } as const
  const admits = (number: number, identity = 'one') => recent.admits({ history: historyOf(identity), number }, page)
  const purge = (...tags: string[]) => {
    for (const tag of tags)
      database.last =
        purges.push({
          number: database.floor + purges.length + 1,
          store: '',
          removals: [{ kind: 'tags', tags: [tag] }],
        }) + database.floor
  }
  return { database, lease, recent, admits, purge }
}

it('admits a page of another node only if no purge since its fetch selects it, and only under a lease', async () => {
  const { lease, recent, admits, purge } = openClock()
  purge('red', 'blue', 'green')
  lease.moveTo('one', 13)
  expect([recent.now(), await admits(13)]).toEqual([null, false])
  lease.grant(readClocks(), 60_000, 0)
  expect(recent.now()).toEqual({ history: historyOf('one'), number: 13 })
  expect(await Promise.all([9, 10, 11, 12, 13, 14].map((at) => admits(at)))).toEqual([
    false,
    false,
    false,
    true,
    true,
    false,
  ])
})

it('considers a purge that has removed pages already and that the position does not have yet', async () => {
  const { lease, admits, purge } = openClock()
  purge('red')
  lease.moveTo('one', 11)
  lease.grant(readClocks(), 60_000, 0)
  expect(await admits(11)).toBe(true)
  purge('blue')
  expect(await admits(11)).toBe(false)
})

it('forgets the oldest purges before long URLs fill the memory, and admits no page from before them', async () => {
  const { database, lease, admits } = openClock()
  for (let number = 11; number <= 3010; number++) {
    const urls = [`${origin}/${String(number).padEnd(8000, 'x')}`]
    database.purges.push({ number, store: '', removals: [{ kind: 'urls', urls }] })
  }
  database.last = 3010
  lease.moveTo('one', 3010)
  lease.grant(readClocks(), 60_000, 0)
  expect([await admits(11), await admits(2500), await admits(3010)]).toEqual([false, true, true])
})

it('admits no page of another database, nor one with a number that its own has lost', async () => {
  const { database, lease, admits, purge } = openClock()
  purge('red', 'green', 'green')
  lease.moveTo('one', 13)
  lease.grant(readClocks(), 60_000, 0)
  expect([await admits(13, 'another'), await admits(13)]).toEqual([false, true])
  // The same identity, as after a restored copy of the files.
  database.purges.length = 1
  database.last = 11
  expect(await admits(13)).toBe(false)
  database.identity = 'another'
  expect([await admits(11), await admits(11, 'another')]).toEqual([false, false])
})

it('gives a process without a lease the time of the last read, and no pages of other nodes', async () => {
  const { database, purge } = openClock()
  let isAway = false
  const clock = await OutsideClock.open({
    read: async () => {
      if (isAway) throw new Error('away')
      return { ...database, purges: [] }
    },
  })
  expect(clock.now()?.number).toBe(13)
  database.floor = 13
  purge('red')
  await until(() => clock.now()?.number === 14)
  expect(await clock.admits()).toBe(false)
  isAway = true
  await until(() => clock.now() === null)
})

it.each<[string, Removal, boolean]>([
  ['its tag', { kind: 'tags', tags: ['green', 'blue'] }, false],
  ['its URL', { kind: 'urls', urls: [`${origin}/a`] }, false],
  ['its type', { kind: 'type', type: 'products' }, false],
  ['a pattern', { kind: 'pattern', pattern: '^/z' }, false],
  ['everything', { kind: 'all' }, false],
  ['other tags', { kind: 'tags', tags: ['green'] }, true],
  ['other URLs', { kind: 'urls', urls: [`${origin}/b`] }, true],
  ['another type', { kind: 'type', type: 'cms' }, true],
])('admits a page of another node after a purge of %s: %s', async (_, removal, isAdmitted) => {
  const { database, lease, admits } = openClock()
  database.purges.push({ number: 11, store: '', removals: [removal] })
  database.last = 11
  lease.moveTo('one', 11)
  lease.grant(readClocks(), 60_000, 0)
  expect([await admits(10), await admits(11)]).toEqual([isAdmitted, true])
})

it('counts pages from before the purges that it has forgotten as outdated', async () => {
  const { lease, database, admits, purge } = openClock()
  purge('blue', ...Array.from({ length: 10_500 }, (_, index) => `tag-${index}`))
  lease.moveTo('one', database.last)
  lease.grant(readClocks(), 60_000, 0)
  expect(await Promise.all([11, 400, database.last - 8_000].map((at) => admits(at)))).toEqual([false, false, true])
})

it('admits older pages after any number of purges of the same names, and none after too many names', async () => {
  const { lease, database, admits, purge } = openClock()
  purge('blue', 'red')
  lease.moveTo('one', database.last)
  lease.grant(readClocks(), 60_000, 0)
  const before = database.last
  expect(await admits(before)).toBe(true)
  purge(...Array.from({ length: 20_000 }, (_, index) => `tag-${index % 10}`))
  expect([await admits(before), await admits(before - 2)]).toEqual([true, false])
  purge(...Array.from({ length: 100_000 }, (_, index) => `other-${index}`))
  expect([await admits(before), await admits(database.last)]).toEqual([false, true])
})
