import { describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { channelId, cookiesOf, germanId, jsonOf, shareStorefronts } from './storefront.ts'

const openStorefront = shareStorefronts()

describe('a session', () => {
  it('starts with the first impression, in a cookie hidden from scripts and pages', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    expect((await shop.track({ popupId: stage.id, eventType: 'close' })).headers.get('set-cookie')).toBeNull()
    const first = await shop.track({ popupId: stage.id, eventType: 'impression' })
    expect(first.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^vendor-stage-session=[\w-]{22}; Path=\/vendor-stage; HttpOnly; SameSite=Lax$/),
    ])
    const second = await shop.track({ popupId: stage.id, eventType: 'impression' }, { cookie: cookiesOf(first) })
    expect(second.headers.get('set-cookie')).toBeNull()
    expect(
      (await shop.records.db.selectFrom('vendor_stage_session').selectAll().execute()).map(({ shows }) => shows),
    ).toEqual([2])
  })

  it('has a Secure cookie if the visitor uses https', async () => {
    const shop = await openStorefront(
      {},
      {
        trustedProxies: ['127.0.0.1'],
        salesChannels: [{ id: channelId, name: 'Secure', url: 'https://shop.example', origin: 'http://127.0.0.1:9' }],
      },
    )
    const stage = await shop.stage()
    const answer = await shop.track(
      { popupId: stage.id, eventType: 'impression' },
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' },
    )
    expect(answer.headers.getSetCookie()[0]).toMatch(/; Secure$/)
  })

  it('counts concurrent impressions exactly', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage({ maxPerSession: 202 })
    const cookie = cookiesOf(await shop.track({ popupId: stage.id, eventType: 'impression' }))
    await Promise.all(
      Array.from({ length: 200 }, () => shop.track({ popupId: stage.id, eventType: 'impression' }, { cookie })),
    )
    expect(await shop.events()).toHaveLength(201)
    expect((await shop.records.db.selectFrom('vendor_stage_session').select('shows').execute())[0]).toEqual({
      shows: 201,
    })
    expect(await shop.active(cookie)).toEqual([stage.id])
    await shop.track({ popupId: stage.id, eventType: 'impression' }, { cookie })
    expect(await shop.active(cookie)).toEqual([])
    expect(await shop.active()).toEqual([stage.id])
  })

  it('is shown a stage according to its frequency', async () => {
    const shop = await openStorefront()
    const [always, perSession, once] = [
      await shop.stage(),
      await shop.stage({ frequency: 'once_per_session' }),
      await shop.stage({ frequency: 'once' }),
    ]
    const first = await shop.track({ popupId: always.id, eventType: 'impression' })
    const session = cookiesOf(first)
    await shop.track({ popupId: perSession.id, eventType: 'impression' }, { cookie: session })
    const seen = await shop.track({ popupId: once.id, eventType: 'impression' }, { cookie: session })
    expect(await shop.active(session)).toEqual([always.id])
    // In a new session of the same browser, only the browser remembers a stage with frequency `once`.
    const active = await shop.active(cookiesOf(seen))
    // Stages of one millisecond have any order.
    expect(active.toSorted()).toEqual([always.id, perSession.id].toSorted())
  })

  it('is not shown a permanently dismissed stage again', async () => {
    const shop = await openStorefront()
    const [stage, other] = [await shop.stage(), await shop.stage()]
    const answer = await shop.track({ popupId: stage.id, eventType: 'permanent_dismiss' })
    expect(answer.headers.getSetCookie()[0]).toMatch(/Max-Age=\d+; HttpOnly/)
    expect(await shop.active(cookiesOf(answer))).toEqual([other.id])
  })
})

describe('active', () => {
  it('omits inactive stages and those of other channels or page types', async () => {
    const shop = await openStorefront()
    const everywhere = await shop.stage()
    await shop.stage({ active: false })
    const german = await shop.stage({ salesChannelId: germanId })
    const products = await shop.stage({ pageTypes: ['product'] })
    expect(await shop.active(undefined, '?pageType=category')).toEqual([everywhere.id])
    const active = await shop.active(undefined, '?pageType=product')
    expect(active.toSorted()).toEqual([everywhere.id, products.id].toSorted())
    expect(await shop.active()).toEqual([everywhere.id])
    const answer = await exchange(`${shop.url}/de/vendor-stage/active?pageType=cms`)
    expect(jsonOf(answer)).toMatchObject({ success: true, total: 2, items: [{ id: everywhere.id }, { id: german.id }] })
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('contains no fields meant for operators only', async () => {
    const shop = await openStorefront()
    await shop.stage({ name: 'canary-name' })
    const answer = await exchange(`${shop.url}/vendor-stage/active`)
    expect(answer.body.toString()).not.toContain('canary-name')
  })
})
