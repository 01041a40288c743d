import { expect, it } from 'vitest'
import type { PageReads } from '../../src/pages/page-reads.ts'
import { Renewals } from '../../src/pages/renewals.ts'

/** A fake index with pages up to an id; the key of each is `k<id>`, and its file `f<id>`. */
function readsUpTo(last: number): PageReads {
  const since: PageReads['since'] = (page, upTo, files, most) =>
    Array.from({ length: upTo - page }, (_, n) => page + n + 1)
      .filter((id) => !files.includes(`f${id}`))
      .slice(0, most)
      .map((id) => ({ id, key: `k${id}` }))
  return { since, lastPage: () => last } as unknown as PageReads
}

it('reports new pages once, and none stored before the start', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(5))
  expect(renewals.learn(readsUpTo(5))).toEqual([])
  expect(renewals.learn(readsUpTo(7))).toEqual(['k6', 'k7'])
  expect(renewals.learn(readsUpTo(7))).toEqual([])
})

it('does not report pages that this process stored', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(0))
  renewals.own({ id: 1, key: 'k1' })
  renewals.own({ id: 3, key: 'k3' })
  expect(renewals.learn(readsUpTo(4))).toEqual(['k2', 'k4'])
  renewals.own({ id: 5, key: 'k5' })
  expect(renewals.learn(readsUpTo(5))).toEqual([])
})

it('does not report pages in files of its writer thread', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(0))
  renewals.ownFiles = () => ['f2', 'f3']
  expect(renewals.learn(readsUpTo(4))).toEqual(['k1', 'k4'])
  renewals.ownFiles = () => []
  expect(renewals.learn(readsUpTo(4))).toEqual([])
})

it('returns null for too many new pages and continues after them', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(0))
  expect(renewals.learn(readsUpTo(50_000))).toBeNull()
  expect(renewals.learn(readsUpTo(50_001))).toEqual(['k50001'])
})
