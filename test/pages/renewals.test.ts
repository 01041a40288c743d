import { expect, it } from 'vitest'
import type { PageReads } from '../../src/pages/page-reads.ts'
import { Renewals } from '../../src/pages/renewals.ts'

/** Stands for an index in which pages up to a number were stored; key `k<number>`. */
function readsUpTo(last: number): PageReads {
  const since = (page: number, most: number) =>
    Array.from({ length: Math.min(most, Math.max(0, last - page)) }, (_, n) => ({
      id: page + n + 1,
      key: `k${page + n + 1}`,
    }))
  return { since, lastPage: () => last } as unknown as PageReads
}

it('what was there at the start is known, what comes is told once', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(5))
  expect(renewals.learn(readsUpTo(5))).toEqual([])
  expect(renewals.learn(readsUpTo(7))).toEqual(['k6', 'k7'])
  expect(renewals.learn(readsUpTo(7))).toEqual([])
})

it('pages of our own are not told, between those of others neither', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(0))
  renewals.own(1)
  renewals.own(3)
  expect(renewals.learn(readsUpTo(4))).toEqual(['k2', 'k4'])
  renewals.own(5)
  expect(renewals.learn(readsUpTo(5))).toEqual([])
})

it('too many at once: nothing is believed, and everything is known from there on', () => {
  const renewals = new Renewals()
  renewals.restart(readsUpTo(0))
  expect(renewals.learn(readsUpTo(50_000))).toBeNull()
  expect(renewals.learn(readsUpTo(50_001))).toEqual(['k50001'])
})
