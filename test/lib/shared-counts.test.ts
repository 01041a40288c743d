import { describe, expect, it } from 'vitest'
import { Failures } from '../../src/auth/failures.ts'
import { SharedCounts, type Counted } from '../../src/lib/shared-counts.ts'
import { openRateLimit } from '../../src/stages/rate-limit.ts'
import { until } from '../helpers/until.ts'

/** Counters of several processes that send to each other, as the daemon's parent process does. */
function together(many: number) {
  const sent: Counted[] = []
  const all: SharedCounts[] = Array.from(
    { length: many },
    (_, from) =>
      new SharedCounts((counted) => {
        sent.push(counted)
        all.forEach((other, to) => to !== from && other.hear(counted))
      }),
  )
  return { all, sent }
}

describe('counters shared by several processes', () => {
  it('add up failed logins by address and by client at once', () => {
    const { all } = together(3)
    const failures = all.map((shared) => new Failures(() => 0, shared))
    for (let turn = 0; turn < 9; turn++) failures[turn % 3]!.count('192.0.2.1', null)
    expect(failures.map((each) => each.limitOf('192.0.2.1'))).toEqual([null, null, null])
    failures[0]!.count('192.0.2.1', null)
    expect(failures.map((each) => each.limitOf('192.0.2.1'))).toEqual([60, 60, 60])
    for (let turn = 0; turn < 10; turn++) expect(failures[turn % 3]!.count(`198.51.100.${turn}`, 'client')).toBeNull()
    expect(failures[2]!.count('198.51.100.99', 'client')).toBe(60)
  })

  it('apply one rate limit, with excess requests deducted later', async () => {
    const { all, sent } = together(2)
    const clock = { now: 0 }
    const [one, other] = all.map((shared) => openRateLimit('events', 1, shared, () => clock.now)) as [
      ReturnType<typeof openRateLimit>,
      ReturnType<typeof openRateLimit>,
    ]
    // Before counts are exchanged, each process admits a burst.
    for (const limit of [one, other])
      expect(Array.from({ length: 11 }, () => limit.take('a', 0)).filter(Boolean)).toHaveLength(10)
    await until(() => expect(sent.length).toBe(2))
    expect(sent.flat()).toEqual([
      ['events', 'a', 10],
      ['events', 'a', 10],
    ])
    clock.now = 10_500
    expect([one.take('a', clock.now), other.take('a', clock.now)]).toEqual([false, false])
    clock.now = 11_500
    expect([one.take('a', clock.now), other.take('b', clock.now)]).toEqual([true, true])
  })

  it('send batches of at most a thousand keys', async () => {
    const { all, sent } = together(2)
    const received = new Map<string, number>()
    all[1]!.join('test', 10, (key, count) => void received.set(key, (received.get(key) ?? 0) + count))
    const count = all[0]!.join('test', 10, () => {})
    for (let turn = 0; turn < 5000; turn++) count(`key ${turn % 2500}`)
    await until(() => expect([...received.values()].reduce((sum, each) => sum + each, 0)).toBe(5000))
    expect(sent.map((counted) => counted.length).every((length) => length <= 1000)).toBe(true)
    expect(sent.length).toBeLessThan(10)
  })
})
