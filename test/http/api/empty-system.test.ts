import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../../helpers/api.ts'
import { bearer, json, jsonOf, prefix } from '../../helpers/api-client.ts'
import { emptyStatistics } from '../../operations/empty-statistics.ts'

/** The documented answers and errors of the API on an empty system. */
let api: Api

beforeAll(async () => {
  api = await openApi({
    config: {
      salesChannels: [
        {
          id: '0190c0de-0000-7000-8000-000000000001',
          url: 'http://shop.example',
          origin: 'http://127.0.0.1:9',
          sitemaps: ['/sitemap.xml'],
        },
      ],
    },
  })
})

afterAll(() => api?.stop())

const get = (path: string) => api.ask(prefix + path, { headers: bearer(api.read.token) })
const post = (path: string, value?: unknown) => {
  const body = value === undefined ? { headers: {} } : json(value)
  return api.ask(prefix + path, { method: 'POST', ...body, headers: { ...body.headers, ...bearer(api.write.token) } })
}

const noItems = { success: true, total: 0, items: [] }
const page = { limit: 50, offset: 0 }
const id = '0190c0de-0000-7000-8000-0000000000ff'

describe('an empty system', () => {
  it.each([
    ['/stats', emptyStatistics],
    ['/warmup/progress', { success: true, progress: null, cacheStats: emptyStatistics }],
    [`/warmup/progress?progressId=${id}`, { success: true, progress: null, cacheStats: emptyStatistics }],
    ['/warmup/list', noItems],
    ['/reverse-proxy-stats/recent', { ...noItems, ...page }],
    ['/reverse-proxy-stats/recent?limit=1000&offset=7', { ...noItems, limit: 1000, offset: 7 }],
    ['/reverse-proxy-log/urls', noItems],
    [
      '/reverse-proxy-log/url-flow?url=http%3A%2F%2Fshop.example%2Fa',
      { ...noItems, ...page, url: 'http://shop.example/a' },
    ],
    [
      '/reverse-proxy-log/entity-timeline?entityType=cms_page&entityId=0190c0de000070008000000000000001',
      { ...noItems, ...page, entityType: 'cms_page', entityId: '0190c0de000070008000000000000001', entityNumber: null },
    ],
    ['/invalidation-log/recent', { ...noItems, ...page }],
    ['/pages', { ...noItems, ...page }],
  ])('GET %s', async (path, value) => {
    const answer = await get(path)
    expect(answer.status, answer.body.toString()).toBe(200)
    expect(jsonOf(answer)).toMatchObject(value)
  })

  it('GET /reverse-proxy-stats has all of the last 24 hours, oldest first', async () => {
    const value = jsonOf(await get('/reverse-proxy-stats')) as {
      overview: object
      hourly: { hour: string; purges: number }[]
      topTags: unknown[]
    }
    expect(value).toMatchObject({
      overview: { totalPurges: 0, distinctUrls: 0, distinctTags: 0, avgResponseTime: 0 },
      topTags: [],
    })
    expect(value.hourly.map(({ purges }) => purges)).toEqual(Array<number>(24).fill(0))
    const hours = value.hourly.map(({ hour }) => Date.parse(hour))
    for (const [index, hour] of hours.entries())
      expect([hour % 3_600_000, hour - hours[0]!]).toEqual([0, index * 3_600_000])
  })

  it.each([
    ['/clear', undefined, { success: true, filesDeleted: 0 }],
    ['/clear', {}, { success: true, filesDeleted: 0 }],
    ['/clear-by-type', { type: 'products' }, { success: true, filesDeleted: 0, type: 'products' }],
    ['/clear-by-type', { type: 'buybox' }, { success: true, filesDeleted: 0, type: 'buybox' }],
    ['/reverse-proxy-stats/clear', undefined, { success: true, deleted: expect.any(Number) as number }],
    ['/invalidation-log/clear', undefined, { success: true, deleted: expect.any(Number) as number }],
  ])('POST %s %j', async (path, body, value) => {
    const answer = await post(path, body)
    expect(answer.status, answer.body.toString()).toBe(200)
    expect(jsonOf(answer)).toEqual(value)
  })
})

describe('an invalid request', () => {
  it.each([
    [400, '/clear-by-type', {}, /^type: /],
    [400, '/clear-by-type', { type: 'product' }, /^type: /],
    [400, '/warmup/start', { batchSize: 0 }, /^batchSize: /],
    [400, '/warmup/start', { batchSize: 1001 }, /^batchSize: /],
    [400, '/warmup/start', { batchSize: '50' }, /^batchSize: /],
    [400, '/warmup/start', { batchSize: 1.5 }, /^batchSize: /],
    [400, '/warmup/start', { salesChannelId: 5 }, /^salesChannelId: /],
    [400, '/warmup/start', { batchSize: 0, salesChannelId: 5 }, /batchSize: .*|salesChannelId: /],
    [404, '/warmup/start', { salesChannelId: id }, /./],
    [400, '/warmup/pause', {}, /^progressId: /],
    [400, '/warmup/resume', {}, /^progressId: /],
    [400, '/warmup/cancel', { progressId: null }, /^progressId: /],
    [404, '/warmup/pause', { progressId: id }, /./],
    [404, '/warmup/resume', { progressId: id }, /./],
    [404, '/warmup/cancel', { progressId: id }, /./],
    [400, '/purge', {}, /./],
    [400, '/purge', { entityType: 'category', entityNumber: 'SW1' }, /./],
  ])('%d POST %s %j', async (status, path, body, message) => {
    expectRefusal(await post(path, body), status, message)
  })

  it.each([
    [400, '/reverse-proxy-stats/recent?limit=0'],
    [400, '/reverse-proxy-stats/recent?limit=1001'],
    [400, '/reverse-proxy-stats/recent?limit=ten'],
    [400, '/reverse-proxy-stats/recent?limit=1e2'],
    [400, '/reverse-proxy-stats/recent?limit=5.0'],
    [400, '/reverse-proxy-stats/recent?limit='],
    [400, '/reverse-proxy-stats/recent?limit=5&limit=6'],
    [400, '/reverse-proxy-stats/recent?offset=-1'],
    [400, '/reverse-proxy-stats/recent?offset=99999999999999999999'],
    [400, '/reverse-proxy-log/urls?limit=0'],
    [400, '/reverse-proxy-log/url-flow'],
    [400, '/reverse-proxy-log/url-flow?url='],
    [400, '/reverse-proxy-log/entity-timeline'],
    [400, '/reverse-proxy-log/entity-timeline?entityType=nothing&entityId=a'],
    [400, '/reverse-proxy-log/entity-timeline?entityType=product'],
    [400, '/reverse-proxy-log/entity-timeline?entityType=category&entityNumber=SW1'],
    [400, '/pages?type=nothing'],
    [400, '/pages/inspect'],
    [404, '/stat'],
    [404, '/clear/'],
  ])('%d GET %s', async (status, path) => {
    expectRefusal(await get(path), status)
  })

  it('gets 409 for a warmup in the wrong state', async () => {
    const { progressId } = jsonOf(await post('/warmup/start', { salesChannelId: null })) as { progressId: string }
    const { progress } = jsonOf(await get(`/warmup/progress?progressId=${progressId}`)) as {
      progress: { id: string; status: string }
    }
    // Nothing answers where the shop should be, so that the run has ended.
    expect(progress).toMatchObject({ id: progressId, status: expect.stringMatching(/failed|completed/) as string })
    for (const move of ['pause', 'resume', 'cancel']) expectRefusal(await post(`/warmup/${move}`, { progressId }), 409)
  })
})
