import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../../helpers/api.ts'
import { bearer, jsonOf } from '../../helpers/api-client.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'

const stages = '/api/_action/vendor-stage'
const channelId = '0190c0de-0000-7000-8000-00000000000a'

let origin: Origin
let api: Api

beforeAll(async () => {
  origin = await startOrigin({ otherwise: { status: 200, headers: { 'content-type': 'text/html' }, body: 'a page' } })
  const salesChannels = [
    {
      id: plain(channelId).toUpperCase(),
      name: 'Storefront',
      url: 'http://shop.example',
      origin: origin.url,
      sitemaps: ['/sitemap.xml'],
    },
  ]
  api = await openApi({ config: { salesChannels } })
})

afterAll(async () => {
  await api?.stop()
  await origin?.stop()
})

/** As Shopware writes an id. */
function plain(id: string): string {
  return id.replaceAll('-', '')
}

function send(method: string, path: string, body?: object) {
  const text = body === undefined ? null : JSON.stringify(body)
  // Node gives the body of a DELETE no length by itself.
  const sent = text === null ? {} : { 'content-type': 'application/json', 'content-length': String(text.length) }
  return api.ask(path, {
    method,
    ...(text !== null && { body: text }),
    headers: { ...sent, ...bearer(api.write.token) },
  })
}

async function newStage(fields: object = {}): Promise<{ id: string; salesChannelId: string | null }> {
  const answer = await send('POST', `${stages}/stages`, { name: 'Sale', ...fields })
  expect(answer.status, answer.body.toString()).toBe(200)
  return (jsonOf(answer) as { stage: { id: string; salesChannelId: string | null } }).stage
}

describe('DELETE of a stage', () => {
  it.each([
    ['the query', '?events=remove', undefined],
    ['the body', '', { events: 'remove' }],
    ['both', '?events=remove', { events: 'remove' }],
  ])('takes what becomes of the events from %s', async (_where, query, body) => {
    const { id } = await newStage()
    expect(jsonOf(await send('DELETE', `${stages}/stages/${id}${query}`, body))).toMatchObject({
      success: true,
      mode: 'remove',
      stage: { id },
    })
  })

  it.each([
    ['a word that it does not know', '?events=burn', undefined],
    ['nothing', '?events=', undefined],
    ['two words', '?events=keep&events=remove', undefined],
    ['another word than the body', '?events=remove', { events: 'keep' }],
  ])('refuses %s in the query, and deletes nothing', async (_what, query, body) => {
    const { id } = await newStage()
    expectRefusal(await send('DELETE', `${stages}/stages/${id}${query}`, body), 400, /^events: /)
    expect((await send('GET', `${stages}/stages/${id}`)).status).toBe(200)
  })

  it('keeps the events by default and ignores unknown fields', async () => {
    const { id } = await newStage()
    expect(jsonOf(await send('DELETE', `${stages}/stages/${id}?_=1&id=other`, { _: 2 }))).toMatchObject({
      mode: 'keep',
      stage: { id },
    })
  })
})

describe('an id', () => {
  const spellings = [
    ['without dashes', plain],
    ['in upper case', (id: string) => id.toUpperCase()],
    ['in both', (id: string) => plain(id).toUpperCase()],
  ] as const

  it.each(spellings)('of a stage is recognised %s', async (_how, spell) => {
    const { id } = await newStage()
    expect(jsonOf(await send('GET', `${stages}/stages/${spell(id)}`))).toMatchObject({ stage: { id } })
    expect(jsonOf(await send('PATCH', `${stages}/stages/${spell(id)}`, { name: 'Other' }))).toMatchObject({
      stage: { id, name: 'Other' },
    })
    expect(jsonOf(await send('POST', `${stages}/stats`, { popupId: spell(id) }))).toMatchObject({ popupId: id })
    expect(jsonOf(await send('DELETE', `${stages}/stages/${spell(id)}`))).toMatchObject({ stage: { id } })
  })

  it.each(spellings)(
    'of a sales channel is recognised %s, whatever its spelling in the configuration',
    async (_how, spell) => {
      expect((await newStage({ salesChannelId: spell(channelId) })).salesChannelId).toBe(channelId)
      const started = jsonOf(
        await send('POST', '/api/_action/vendor-cache/warmup/start', { salesChannelId: spell(channelId) }),
      ) as { progressId: string }
      const { progress } = jsonOf(
        await api.ask(`/api/_action/vendor-cache/warmup/progress?progressId=${spell(started.progressId)}`, {
          headers: bearer(api.read.token),
        }),
      ) as { progress: object }
      expect(progress).toMatchObject({ id: started.progressId, sales_channel_id: channelId })
    },
  )

  it('of a channel is stored with its stages and events', async () => {
    const { id } = await newStage({ salesChannelId: channelId })
    const shown = await api.ask('/vendor-stage/active', { headers: { host: 'shop.example' } })
    expect((jsonOf(shown) as { items: { id: string }[] }).items.map((item) => item.id)).toContain(id)
  })
})

describe('an unknown id', () => {
  const unknown = '0190c0de-0000-7000-8000-0000000000ff'

  it('is 404 as the sales channel of a stage, in create and update', async () => {
    for (const salesChannelId of [unknown, plain(unknown), 'none']) {
      expectRefusal(
        await send('POST', `${stages}/stages`, { name: 'Sale', salesChannelId }),
        404,
        /^There is no sales channel with the id /,
      )
      const { id } = await newStage({ salesChannelId: channelId })
      expectRefusal(
        await send('PATCH', `${stages}/stages/${id}`, { salesChannelId }),
        404,
        /^There is no sales channel with the id /,
      )
      expect(jsonOf(await send('GET', `${stages}/stages/${id}`))).toMatchObject({
        stage: { salesChannelId: channelId },
      })
      expectRefusal(
        await send('POST', '/api/_action/vendor-cache/warmup/start', { salesChannelId }),
        404,
        /^There is no sales channel with the id /,
      )
    }
  })

  it.each([
    ['popupId', unknown, 404],
    ['popupId', 'summer', 400],
    ['popupId', '../x', 400],
    ['popupId', `${unknown}0`, 400],
    ['popupId', '', 400],
    ['popupId', 7, 400],
    ['popupId', null, 400],
  ])('statistics of %s %j are %d', async (field, popupId, status) => {
    expectRefusal(
      await send('POST', `${stages}/stats`, { [field]: popupId }),
      status,
      status === 400 ? /^popupId: expected the id of a stage, a UUID$/ : /^There is no stage with the id/,
    )
  })
})

describe('a list', () => {
  it('names its invalid item as the client wrote it, and each error once', async () => {
    const purge = (body: object) => send('POST', '/api/_action/vendor-cache/purge', body)
    expectRefusal(await purge({ urls: ['http://shop.example/', ''] }), 400, /^urls\[1\]: expected a non-empty URL$/)
    expectRefusal(
      await purge({ urls: ['http://shop.example/', 'nothing'] }),
      400,
      /^urls\[1\]: nothing is not an absolute URL/,
    )
    expectRefusal(await purge({ urls: ['http://shop.example/', 'http://other.example/'] }), 400, /^urls\[1\]: /)
    expectRefusal(
      await purge({ urls: ['http://user:canary@other.example/'] }),
      400,
      /^urls\[0\]: http:\/\/\*\*\*@other\.example\/ belongs to no sales channel$/,
    )
    expectRefusal(await purge({ tags: ['good', 'b a d'] }), 400, /^tags\[1\]: "b a d" is not a tag$/)
    expectRefusal(
      await send('POST', `${stages}/stages`, { name: 'x', content: { callToAction: { label: '' } } }),
      400,
      /^content\.callToAction\.label: /,
    )
    expectRefusal(
      await api.ask('/api/_action/vendor-cache/reverse-proxy-stats/recent?offset=-1', {
        headers: bearer(api.read.token),
      }),
      400,
      /^offset: expected a whole number from 0$/,
    )
    expectRefusal(
      await api.ask('/api/_action/vendor-cache/reverse-proxy-stats/recent?limit=1e9', {
        headers: bearer(api.read.token),
      }),
      400,
      /^limit: expected a whole number from 1 to 1000$/,
    )
  })
})

describe('statistics', () => {
  it('cover a hundred years at most; invalid fields are named', async () => {
    const { id } = await newStage()
    const ask = (range: object) => send('POST', `${stages}/stats`, { popupId: id, ...range })
    expectRefusal(
      await ask({ dateFrom: '0000-01-01', dateTo: '9999-12-31' }),
      400,
      /^dateFrom: from 0000-01-01 to 9999-12-31 is longer than the maximum of 100 years/,
    )
    expectRefusal(await ask({ dateFrom: '1900-01-01' }), 400, /^dateFrom: /)
    expectRefusal(await ask({ dateTo: '9999-12-31' }), 400, /^dateTo: /)
    expectRefusal(await ask({ dateFrom: '1926-01-01', dateTo: '2026-01-01' }), 400, /^dateFrom: /)
    expect(
      (jsonOf(await ask({ dateFrom: '1926-01-01', dateTo: '2025-12-31' })) as { series: object[] }).series,
    ).toHaveLength(1200)
    expect(jsonOf(await ask({ dateFrom: null, dateTo: null }))).toMatchObject({ success: true, bucket: 'hour' })
    expect(jsonOf(await ask({ dateFrom: '9999-12-31' }))).toMatchObject({
      dateFrom: '9999-12-31',
      dateTo: '9999-12-31',
    })
    expect(jsonOf(await ask({ dateTo: '0000-01-01' }))).toMatchObject({ dateFrom: '0000-01-01', dateTo: '0000-01-01' })
  })
})
