import { describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { channelId, germanId, jsonOf, shareStorefronts } from './storefront.ts'

const openStorefront = shareStorefronts()

describe('an event', () => {
  it('is stored before the response, with the fields of the client and of the server', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const before = Date.now()
    const answer = await shop.track({
      popupId: stage.id,
      eventType: 'cta_click',
      pageType: 'product',
      requestUrl: '/p/1',
    })
    expect([answer.status, jsonOf(answer), answer.headers.get('cache-control')]).toEqual([
      200,
      { success: true },
      'no-store',
    ])
    const [event] = await shop.events()
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
      popup_id: stage.id,
      event_type: 'cta_click',
      sales_channel_id: channelId,
      customer_id: null,
      page_type: 'product',
      request_url: '/p/1',
      created_at: expect.any(Number) as number,
    })
    expect(event!.created_at).toBeGreaterThanOrEqual(before - 1000)
    expect(Number.parseInt(event!.id.replace('-', '').slice(0, 12), 16)).toBe(event!.created_at)
  })

  it('may be sent as text/plain by a beacon, and belongs to the channel of its address', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const answer = await exchange(`${shop.url}/de/vendor-stage/track`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
      body: JSON.stringify({ popupId: stage.id, eventType: 'close' }),
    })
    expect(answer.status).toBe(200)
    expect((await shop.events()).map((event) => event.sales_channel_id)).toEqual([germanId])
  })

  it('ignores unknown fields of the body', async () => {
    const shop = await openStorefront({ customerHeader: 'x-customer' }, { trustedProxies: ['127.0.0.1'] })
    const stage = await shop.stage()
    const forged = {
      created_at: 5,
      createdAt: 5,
      customerId: 'mallory',
      customer_id: 'mallory',
      ip: '1.2.3.4',
      userAgent: 'x',
      salesChannelId: 'other',
      id: 'mine',
    }
    await shop.track({ popupId: stage.id, eventType: 'impression', ...forged })
    const [event] = await shop.events()
    expect(event).toMatchObject({ customer_id: null, sales_channel_id: channelId })
    expect(event!.created_at).toBeGreaterThan(1_000_000)
  })

  it('keeps at most 64 characters of the page type and 2,048 of the URL', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const answer = await shop.track({
      popupId: stage.id,
      eventType: 'close',
      pageType: 'p'.repeat(65),
      requestUrl: `/${'u'.repeat(3000)}`,
    })
    expect(answer.status).toBe(200)
    const [event] = await shop.events()
    expect([event!.page_type!.length, event!.request_url!.length]).toEqual([64, 2048])
  })

  it.each([
    ['/p/1?email=canary@example.org', '/p/1'],
    ['/reset#canary', '/reset'],
    ['/p#a?canary', '/p'],
    ['https://user:canary@shop.example/p/1?canary=1#canary', '/p/1'],
    ['HTTPS://canary@shop.example', '/'],
    ['//canary@shop.example/p', '/p'],
    ['https:\\\\user:canary@shop.example\\p', '/p'],
    ['https:user:canary@shop.example/p?canary', '/p'],
    ['http:/user:canary@shop.example/p', '/p'],
    ['ht\ttp://user:canary@shop.example/p', '/p'],
    ['user:canary@shop.example/p?canary', null],
    ['blob:http://user:canary@shop.example/p', null],
    ['mailto:canary@shop.example', null],
    ['javascript:alert(1)', null],
    ['\t/p\n', '/p'],
    [' \thttps://user:canary@shop.example/p', '/p'],
    [`https://${'canary'.repeat(400)}@shop.example/p`, '/p'],
    ['?canary', null],
    ['p/1', 'p/1'],
    ['/a//b', '/a//b'],
    ['/a%3Fb', '/a%3Fb'],
  ])('stores only the path of %s', async (requestUrl, stored) => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    expect((await shop.track({ popupId: stage.id, eventType: 'close', requestUrl })).status).toBe(200)
    expect((await shop.events()).map((event) => event.request_url)).toEqual([stored])
  })

  it('of a stage that does not record leaves no row, session or cookie', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage({ statsEnabled: false })
    const answer = await shop.track({ popupId: stage.id, eventType: 'impression' })
    expect([answer.status, jsonOf(answer), answer.headers.get('set-cookie')]).toEqual([200, { success: true }, null])
    expect(await shop.events()).toEqual([])
    expect(await shop.records.db.selectFrom('vendor_stage_session').selectAll().execute()).toEqual([])
  })

  it('never reaches the shop, like everything below /vendor-stage/', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' })
    await shop.active()
    const paths = ['track', 'nothing', 'active/', ''].map((path) => exchange(`${shop.url}/vendor-stage/${path}`))
    expect((await Promise.all(paths)).map(({ status }) => status)).toEqual([405, 404, 404, 404])
    expect((await exchange(`${shop.url}/vendor-stage/active`, { method: 'POST' })).headers.get('allow')).toBe(
      'GET, HEAD',
    )
    expect(shop.origin.requests).toEqual([])
  })
})

describe('the customer of an event', () => {
  it('comes from the configured header of a trusted proxy', async () => {
    const shop = await openStorefront({ customerHeader: 'X-Customer' }, { trustedProxies: ['127.0.0.1'] })
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' }, { 'x-customer': 'customer-7' })
    await shop.track({ popupId: stage.id, eventType: 'close' }, { 'x-customer': 'a b' })
    await shop.track({ popupId: stage.id, eventType: 'close' })
    expect((await shop.events()).map((event) => event.customer_id).toSorted()).toEqual(['customer-7', null, null])
  })

  it('comes from nowhere else', async () => {
    const shop = await openStorefront({ customerHeader: 'X-Customer' }, { trustedProxies: ['192.0.2.1'] })
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' }, { 'x-customer': 'customer-7' })
    expect((await shop.events()).map((event) => event.customer_id)).toEqual([null])
  })
})

describe('bots and prefetches', () => {
  it.each([
    ['user-agent', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'],
    ['user-agent', 'facebookexternalhit/1.1'],
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-moz', 'prefetch'],
  ])('%s: %s is answered and not counted', async (name, value) => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const answer = await shop.track({ popupId: stage.id, eventType: 'impression' }, { [name]: value })
    expect([answer.status, jsonOf(answer), answer.headers.get('set-cookie')]).toEqual([200, { success: true }, null])
    expect(await shop.events()).toEqual([])
  })

  it.each([
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36',
  ])('a browser is counted: %s', async (agent) => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'impression' }, { 'user-agent': agent })
    expect(await shop.events()).toHaveLength(1)
  })
})

describe('rate limits', () => {
  it('apply per address: 429, but not for a neighbour', async () => {
    const shop = await openStorefront(
      { rateLimit: { perAddress: 1, perStage: null, total: null } },
      { trustedProxies: ['127.0.0.1'] },
    )
    const stage = await shop.stage()
    const send = (address: string) =>
      shop.track({ popupId: stage.id, eventType: 'close' }, { 'x-forwarded-for': address })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => send(`2001:db8:1:2::${index.toString(16)}`)),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(20)
    expect(refused[0]!.headers.get('retry-after')).toBe('1')
    expect((await send('2001:db8:1:3::1')).status).toBe(200)
    expect(await shop.events()).toHaveLength(answers.length - refused.length + 1)
  })

  it('apply per stage and in total: 429', async () => {
    const one = await openStorefront({ rateLimit: { perAddress: null, perStage: 1, total: null } })
    const [stage, other] = [await one.stage(), await one.stage()]
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => one.track({ popupId: stage.id, eventType: 'close' })),
    )
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    expect((await one.track({ popupId: other.id, eventType: 'close' })).status).toBe(200)
    const all = await openStorefront({ rateLimit: { perAddress: null, perStage: null, total: 1 } })
    const third = await all.stage()
    expect(
      (await Promise.all(Array.from({ length: 30 }, () => all.track({ popupId: third.id, eventType: 'close' })))).some(
        ({ status }) => status === 429,
      ),
    ).toBe(true)
  })
})
