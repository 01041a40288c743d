import { describe, expect, it } from 'vitest'
import { findActive, findPreviewed } from '../../src/stages/active.ts'
import { channelId, jsonOf, shareStorefronts } from './storefront.ts'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'

const openStorefront = shareStorefronts()

const visitor = { salesChannelId: channelId, pageType: null, session: null, hidden: [] }

describe('the time window of a stage', () => {
  it('opens at its first moment and closes at its last, by the wall clock', async () => {
    const { records, stage } = await openStorefront()
    const { id } = await stage({ from: '2026-12-01T00:00+01:00', until: '2026-12-24T18:00Z' })
    const [start, end] = [Date.parse('2026-11-30T23:00Z'), Date.parse('2026-12-24T18:00Z')]
    const at = (today: number) => findActive(records.db, records.now(), today, visitor)
    expect(await at(start - 1)).toEqual([])
    expect(await at(start)).toMatchObject([{ id, endsIn: end - start }])
    expect(await at(end - 1)).toMatchObject([{ id, endsIn: 1 }])
    expect(await at(end)).toEqual([])
    expect(await findPreviewed(records.db, { preview: id })).toMatchObject([{ id, endsIn: null }])
  })

  it('begins and ends under a running daemon, in answers that no cache keeps', async () => {
    const shop = await openStorefront()
    const now = Date.now()
    const iso = (time: number) => new Date(time).toISOString()
    const begun = await shop.stage({ from: iso(now - 60_000), until: iso(now + 3_600_000) })
    await shop.stage({ from: iso(now + 3_600_000) })
    await shop.stage({ until: iso(now - 1) })
    const soon = await shop.stage({ from: iso(now + 500) })
    const brief = await shop.stage({ until: iso(now + 1500) })
    await until(async () => {
      const shown = await shop.active()
      return shown.includes(soon.id) && !shown.includes(brief.id)
    })
    expect((await shop.active()).toSorted()).toEqual([begun.id, soon.id].toSorted())
    const answer = await exchange(`${shop.url}/vendor-stage/active`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { items } = jsonOf(answer) as { items: { endsIn: number | null }[] }
    expect(items[0]!.endsIn).toBeLessThanOrEqual(3_600_000)
    expect(items[1]!.endsIn).toBeNull()
  })

  it('does not keep events of a visitor who saw it in time from being counted', async () => {
    const shop = await openStorefront()
    const { id } = await shop.stage({ until: '2020-01-01T00:00Z' })
    expect((await shop.track({ popupId: id, eventType: 'close' })).status).toBe(200)
    expect(await shop.events()).toMatchObject([{ popup_id: id, event_type: 'close' }])
  })
})
