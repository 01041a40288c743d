import { describe, expect, it } from 'vitest'
import { deleteStage } from '../../src/stages/delete-stage.ts'
import { eraseCustomer } from '../../src/stages/erase-customer.ts'
import { pruneEvents } from '../../src/stages/prune.ts'
import { readStatistics } from '../../src/stages/statistics.ts'
import { createStage, readStage, updateStage } from '../../src/stages/stages.ts'
import { settings } from './storefront.ts'
import { channels, day, noon, openStages } from './plain-count.ts'

describe('erasure', () => {
  it('anonymizes: the events stay without the customer, and the sums are unchanged', async () => {
    const { records, tracker, event } = await openStages()
    const { id } = await createStage(records, channels, settings)
    await Promise.all(
      Array.from({ length: 2500 }, (_, index) =>
        tracker.track(event(id, noon, { customerId: index % 2 === 0 ? 'c-1' : 'c-2' })),
      ),
    )
    expect(await eraseCustomer(records, 'c-1', 'anonymize')).toMatchObject({ events: 1250 })
    expect(await eraseCustomer(records, 'c-1', 'anonymize')).toMatchObject({ events: 0 })
    expect((await readStatistics(records, { popupId: id, dateFrom: null, dateTo: null })).totals.impression).toBe(2500)
    const left = await records.db
      .selectFrom('vendor_stage_event')
      .select(['customer_id', ({ fn }) => fn.countAll<number>().as('events')])
      .groupBy('customer_id')
      .execute()
    expect(left).toEqual([
      { customer_id: null, events: 1250 },
      { customer_id: 'c-2', events: 1250 },
    ])
  })
})

describe('deleting a stage', () => {
  it('removes its events on request, and no others', async () => {
    const { records, tracker, event } = await openStages()
    const [gone, stays] = [
      await createStage(records, channels, settings),
      await createStage(records, channels, settings),
    ]
    await Promise.all(
      Array.from({ length: 2100 }, (_, index) => tracker.track(event(index % 3 === 0 ? stays.id : gone.id, noon))),
    )
    expect(await deleteStage(records, gone.id, 'remove')).toMatchObject({ events: 1400, stage: { id: gone.id } })
    for (const table of ['vendor_stage_event', 'vendor_stage_rollup'] as const) {
      expect(await records.db.selectFrom(table).selectAll().where('popup_id', '=', gone.id).execute()).toEqual([])
    }
    expect((await readStatistics(records, { popupId: stays.id, dateFrom: null, dateTo: null })).totals.impression).toBe(
      700,
    )
    await expect(readStatistics(records, { popupId: gone.id, dateFrom: null, dateTo: null })).rejects.toThrow(
      'There is no stage',
    )
  })

  it('keeps its events and statistics for their retention, but hides the stage from visitors and operators', async () => {
    const { records, tracker, event } = await openStages()
    const { id } = await createStage(records, channels, { ...settings, retentionDays: 10 })
    await tracker.track(event(id, noon))
    expect(await deleteStage(records, id, 'keep')).toMatchObject({ events: 1 })
    expect(await tracker.track(event(id, noon))).toBe('unknown')
    expect(
      await tracker.findActive({ salesChannelId: 'channel-1', pageType: null, session: null, hidden: [] }),
    ).toEqual([])
    await expect(readStage(records, id)).rejects.toThrow('There is no stage')
    await expect(updateStage(records, channels, id, { name: 'x' })).rejects.toThrow('There is no stage')
    expect((await readStatistics(records, { popupId: id, dateFrom: null, dateTo: null })).totals.impression).toBe(1)
    expect(await pruneEvents(records, { before: noon + 11 * day, limit: 100 })).toBe(1)
    expect(await records.db.selectFrom('vendor_stage').selectAll().execute()).toEqual([])
  })

  it('is finished by the next pruning if it was interrupted', async () => {
    const { records, tracker, event } = await openStages()
    const { id } = await createStage(records, channels, { ...settings, retentionDays: 0 })
    await Promise.all(Array.from({ length: 50 }, () => tracker.track(event(id, noon))))
    await records.db.updateTable('vendor_stage').set({ deleted: 'remove' }).execute()
    expect(await pruneEvents(records, { before: noon, limit: 20 })).toBe(20)
    expect(await pruneEvents(records, { before: noon, limit: 100 })).toBe(30)
    expect(await records.db.selectFrom('vendor_stage').selectAll().execute()).toEqual([])
  })
})

describe('pruning', () => {
  it('removes expired sessions', async () => {
    const { records, tracker, event } = await openStages()
    const { id } = await createStage(records, channels, settings)
    await tracker.track(event(id, noon, { session: 'old' }))
    await tracker.track(event(id, noon + 3 * day, { session: 'new' }))
    expect(await pruneEvents(records, { before: noon + 3 * day, limit: 100 })).toBe(1)
    expect(
      (await records.db.selectFrom('vendor_stage_session').select('session').execute()).map(({ session }) => session),
    ).toEqual(['new'])
  })
})
