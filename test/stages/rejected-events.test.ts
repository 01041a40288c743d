import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { jsonOf, shareStorefronts } from './storefront.ts'

const openStorefront = shareStorefronts()

describe('rejected requests', () => {
  const id = '0190c0de-0000-7000-8000-00000000000a'
  it.each([
    ['no popupId', { eventType: 'close' }, /popupId: missing/],
    ['an empty popupId', { popupId: '', eventType: 'close' }, /popupId/],
    ['no eventType', { popupId: id }, /eventType: missing/],
    ['an unknown eventType', { popupId: id, eventType: 'hover' }, /impression, cta_click, close, permanent_dismiss/],
    ['an inherited eventType', { popupId: id, eventType: 'toString' }, /eventType/],
    ['a popupId that is no id', { popupId: '../../etc', eventType: 'close' }, /popupId/],
    ['a popupId that is a number', { popupId: 7, eventType: 'close' }, /popupId/],
    ['a popupId that is a list', { popupId: [id], eventType: 'close' }, /popupId/],
    ['a pageType that is an object', { popupId: id, eventType: 'close', pageType: {} }, /pageType/],
    ['a list', [1], /object/],
    ['null', 'null', /object/],
    ['no JSON', '{"popupId":', /JSON/],
    ['nothing', '', /JSON/],
    ['__proto__', `{"popupId":"${id}","eventType":"close","__proto__":{"polluted":1}}`, /__proto__/],
    [
      '__proto__, written otherwise and deeper',
      `{"popupId":"${id}","eventType":"close","a":[{"\\u005f_proto__":1}]}`,
      /__proto__/,
    ],
    ['deep nesting', `{"popupId":"${id}","eventType":"close","a":${'['.repeat(3900)}${']'.repeat(3900)}}`, /nested/],
    [
      'invalid UTF-8',
      Buffer.concat([
        Buffer.from(`{"popupId":"${id}","eventType":"close","pageType":"`),
        Buffer.from([0xff, 0xc0]),
        Buffer.from('"}'),
      ]),
      /UTF-8/,
    ],
  ])('%s: 400 that names the field', async (_name, body, message) => {
    const shop = await openStorefront()
    const answer = await shop.track(body)
    expect(answer.status).toBe(400)
    expect(jsonOf(answer)).toEqual({ success: false, message: expect.stringMatching(message) as string })
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('other media types and compressed bodies: 400', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const body = JSON.stringify({ popupId: stage.id, eventType: 'close' })
    expect((await shop.track(body, { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(400)
    expect((await shop.track(gzipSync(body), { 'content-encoding': 'gzip' })).status).toBe(400)
    expect(await shop.events()).toEqual([])
  })

  it('unknown and deleted stages: 404', async () => {
    const shop = await openStorefront()
    const answer = await shop.track({ popupId: randomUUID(), eventType: 'close' })
    expect([answer.status, jsonOf(answer)]).toEqual([404, { success: false, message: expect.any(String) as string }])
  })

  it('a body over 8 KiB: 413, with or without Content-Length', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const body = (size: number) => {
      const frame = JSON.stringify({ popupId: stage.id, eventType: 'close', filler: '' })
      return frame.replace('"filler":""', `"filler":"${'x'.repeat(size - frame.length)}"`)
    }
    expect((await shop.track(body(8192))).status).toBe(200)
    expect((await shop.track(body(8193))).status).toBe(413)
    expect((await shop.track(body(20_000), { 'transfer-encoding': 'chunked' })).status).toBe(413)
    expect(await shop.events()).toHaveLength(1)
  })

  it('a foreign or null Origin: 403; origins of the channels are accepted', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    const from = async (origin: string) =>
      (await shop.track({ popupId: stage.id, eventType: 'close' }, { origin })).status
    expect(await from('https://evil.example')).toBe(403)
    expect(await from('null')).toBe(403)
    expect(await from(`${shop.url}.evil.example`)).toBe(403)
    expect(await from(shop.url.replace('http:', 'https:'))).toBe(403)
    expect(await from(shop.url)).toBe(200)
    expect(await shop.events()).toHaveLength(1)
  })

  it('a missing Origin: 403 if the configuration requires one', async () => {
    const shop = await openStorefront({ requireOrigin: true })
    const stage = await shop.stage()
    expect((await shop.track({ popupId: stage.id, eventType: 'close' })).status).toBe(403)
    expect((await shop.track({ popupId: stage.id, eventType: 'close' }, { origin: shop.url })).status).toBe(200)
  })
})
