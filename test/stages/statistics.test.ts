import { describe, expect, it } from 'vitest'
import { bucketFor, bucketNames, parseDay } from '../../src/stages/buckets.ts'
import { eraseCustomer } from '../../src/stages/erase-customer.ts'
import { pruneEvents } from '../../src/stages/prune.ts'
import { readStatistics } from '../../src/stages/statistics.ts'
import { type EventType, eventTypes } from '../../src/stages/stage.ts'
import { createStage } from '../../src/stages/stages.ts'
import { pick, random } from '../helpers/random.ts'
import { settings } from './storefront.ts'
import { assertAgreement, channels, day, noon, openStages } from './plain-count.ts'

describe('statistics', () => {
  it('always match a plain count: while events arrive, after pruning and after erasure', async () => {
    const { records, tracker, event } = await openStages()
    const stages = [
      await createStage(records, channels, { ...settings, retentionDays: 30 }),
      await createStage(records, channels, { ...settings, retentionDays: 0 }),
    ]
    const next = random(7)
    const oneOf = <T>(list: readonly T[]) => pick(next, list)
    const ranges = [
      ['2026-11-20', '2026-11-20'],
      ['2026-11-19', '2026-11-20'],
      ['2026-10-01', '2026-11-20'],
      ['2026-01-01', '2026-11-20'],
      ['2020-01-01', '2026-12-31'],
    ] as [string, string][]
    const most = 2000
    const least = 5
    const seen: number[] = []
    let sent = 0
    // However slow the reader is, it reads a few times while events arrive.
    const going = () => sent < most || seen.length <= least
    const producers = Array.from({ length: 16 }, async () => {
      while (going()) {
        sent += 1
        await tracker.track(
          event(oneOf(stages).id, noon - Math.floor(next() * 200 * day), {
            type: oneOf(eventTypes) as EventType,
            customerId: next() < 0.2 ? 'c-1' : null,
          }),
        )
      }
    })
    const watching = (async () => {
      while (going()) {
        const [from, to] = oneOf(ranges)
        seen.push(await assertAgreement(records, oneOf(stages).id, from, to))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })()
    await Promise.all([...producers, watching])
    expect(seen.length).toBeGreaterThan(least)

    const agree = async () => {
      for (const stage of stages) for (const [from, to] of ranges) await assertAgreement(records, stage.id, from, to)
    }
    await agree()
    let pruned = 0
    for (;;) {
      const slice = await pruneEvents(records, { before: noon, limit: 300 })
      pruned += slice
      await agree()
      if (slice < 300) break
    }
    expect(pruned).toBeGreaterThan(400)
    const oldest = await records.db
      .selectFrom('vendor_stage_event')
      .where('popup_id', '=', stages[0]!.id)
      .select(({ fn }) => fn.min('created_at').as('at'))
      .executeTakeFirstOrThrow()
    expect(oldest.at).toBeGreaterThanOrEqual(noon - 30 * day)
    const forever = await records.db
      .selectFrom('vendor_stage_event')
      .where('popup_id', '=', stages[1]!.id)
      .select(({ fn }) => fn.min('created_at').as('at'))
      .executeTakeFirstOrThrow()
    expect(forever.at).toBeLessThan(noon - 150 * day)

    expect((await eraseCustomer(records, 'c-1', 'remove')).events).toBeGreaterThan(100)
    expect(
      await records.db.selectFrom('vendor_stage_event').selectAll().where('customer_id', '=', 'c-1').execute(),
    ).toEqual([])
    await agree()
  })

  it('include every bucket of the range, also empty ones, and rates', async () => {
    const { records, tracker, event } = await openStages()
    const { id } = await createStage(records, channels, settings)
    const midnight = Date.UTC(2026, 10, 19)
    for (const at of [midnight - 1, midnight, midnight + 3_599_999, midnight + day - 1, midnight + day])
      await tracker.track(event(id, at))
    await tracker.track(event(id, midnight, { type: 'cta_click' }))
    const value = await readStatistics(records, { popupId: id, dateFrom: '2026-11-19', dateTo: '2026-11-19' })
    expect(value).toMatchObject({
      popupId: id,
      dateFrom: '2026-11-19',
      dateTo: '2026-11-19',
      bucket: 'hour',
      totals: { impression: 3, cta_click: 1, close: 0, permanent_dismiss: 0 },
    })
    expect(value.rates).toEqual({ ctr: 0.3333, closeRate: 0, dismissRate: 0 })
    expect(value.series).toHaveLength(24)
    expect(value.series[0]).toEqual({
      date: '2026-11-19T00:00:00.000Z',
      impression: 2,
      cta_click: 1,
      close: 0,
      permanent_dismiss: 0,
    })
    expect(value.series[23]).toMatchObject({ date: '2026-11-19T23:00:00.000Z', impression: 1 })
    const all = await readStatistics(records, { popupId: id, dateFrom: null, dateTo: null })
    expect(all).toMatchObject({
      dateFrom: '2026-11-18',
      dateTo: '2026-11-20',
      bucket: 'day',
      totals: { impression: 5 },
    })
  })

  it('are zeros for a stage without events', async () => {
    const { records } = await openStages()
    const { id } = await createStage(records, channels, settings)
    const value = await readStatistics(records, { popupId: id, dateFrom: null, dateTo: null })
    expect(value).toMatchObject({
      dateFrom: '2026-11-20',
      dateTo: '2026-11-20',
      totals: { impression: 0 },
      rates: { ctr: 0 },
    })
  })

  it.each([
    ['2026-02-30', null, /dateFrom/],
    ['yesterday', null, /dateFrom/],
    [null, '2026-1-1', /dateTo/],
    ['2026-11-21', '2026-11-20', /after/],
  ])('from %s to %s is rejected', async (dateFrom, dateTo, message) => {
    const { records } = await openStages()
    const { id } = await createStage(records, channels, settings)
    await expect(readStatistics(records, { popupId: id, dateFrom, dateTo })).rejects.toThrow(message)
  })

  it.each([
    ['2026-11-19', '2026-11-20', 'hour', 48, '2026-11-19T00:00:00.000Z'],
    ['2026-11-18', '2026-11-20', 'day', 3, '2026-11-18'],
    ['2026-01-01', '2026-04-02', 'day', 92, '2026-01-01'],
    ['2026-01-01', '2026-04-03', 'week', 14, '2025-12-29'],
    ['2024-02-29', '2026-02-28', 'week', 105, '2024-02-26'],
    ['2024-01-01', '2025-12-31', 'week', 105, '2024-01-01'],
    ['2024-01-01', '2026-01-01', 'month', 25, '2024-01-01'],
    ['2024-01-31', '2026-02-01', 'month', 26, '2024-01-01'],
  ])('from %s to %s are by %s: %i buckets, starting %s', (from, to, kind, length, first) => {
    const range = { from: parseDay(from)!, to: parseDay(to)! }
    expect(bucketFor(range)).toBe(kind)
    const names = bucketNames(bucketFor(range), range)
    expect([names.length, names[0]]).toEqual([length, first])
    expect(new Set(names).size).toBe(length)
  })
})
