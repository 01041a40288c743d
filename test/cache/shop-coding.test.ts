import { randomBytes } from 'node:crypto'
import zlib from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { toFetchPage } from '../../src/warmup/run/fetch-page.ts'
import { fetchOptions } from '../helpers/fetch-options.ts'
import { include, markup } from './esi/shop.ts'
import type { Fields, OriginRequest, Reply } from './scripted-origin.ts'
import { isHit, openSite, plain, shopUrl, type Site } from './site.ts'

const html = `<!doctype html><title>Shoe</title>${'<p>A shoe like any other.</p>'.repeat(100)}`
const fields: Fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'text/html; charset=utf-8' }
const noTransform: Fields = { ...fields, 'Cache-Control': 'public, s-maxage=60, no-transform' }
const browser = 'gzip, deflate, br, zstd'

/** What a shop answers whose web server compresses on request, with an entity tag for each coding, as precompressed files have. */
function compressing(request: OriginRequest, body: string | Buffer = html, more: Fields = fields): Reply {
  const coded = request.fields.get('accept-encoding') === 'gzip'
  const tag = coded ? '"a-gzip"' : '"a"'
  if (request.fields.get('if-none-match')?.includes(tag)) return { status: 304, fields: { ...more, ETag: tag } }
  if (!coded) return { fields: { ...more, ETag: tag }, body }
  return { fields: { ...more, ETag: tag, 'Content-Encoding': 'gzip' }, body: zlib.gzipSync(body) }
}

async function open(
  answer: (request: OriginRequest) => Reply | Promise<Reply> = (request) => compressing(request),
  changes: Partial<CacheSettings> = {},
) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(answer)
  const get = (coding?: string, more: Record<string, string> = {}, target = '/a') =>
    site.visit(target, { fields: { ...(coding === undefined ? {} : { 'Accept-Encoding': coding }), ...more } })
  return { site, get }
}

const asked = ({ origin }: Site) => origin.requests.map((request) => request.fields.get('accept-encoding'))

const withoutChecksum = (body: Buffer) => body.fill(0, body.length - 8, body.length - 4)

describe('the shop is asked for gzip', () => {
  it.each<[string, number]>([
    ['a small page', 2_000],
    ['more than is decoded at once', 200_000],
    ['more than is read at once', 500_000],
  ])('%s is stored as it came, and decoded for those who accept no gzip', async (_, size) => {
    // Half of it does not compress.
    const body = randomBytes(size / 4)
      .toString('hex')
      .padEnd(size, 'x')
    const { site, get } = await open((request) => compressing(request, body))
    const first = await get(browser)
    expect(first.body.equals(zlib.gzipSync(body))).toBe(true)
    for (const coding of [browser, 'gzip', 'br', 'zstd', undefined]) {
      const answer = await get(coding)
      expect(isHit(answer)).toBe(true)
      expect(plain(answer)).toBe(body)
      expect(answer.field('etag')).toBe('W/"a-gzip"')
      expect(answer.field('vary')).toBe('Accept-Encoding')
    }
    expect((await get(undefined, { Range: 'bytes=10-19' })).text).toBe(body.slice(10, 20))
    expect(asked(site)).toEqual(['gzip'])
    expect(site.store.findByUrl(`${shopUrl}/a`)[0]).toMatchObject({ encoding: 'gzip', originalSize: size })
  })

  it('those who wait for the same page get it in what they accept', async () => {
    const { site, get } = await open()
    const codings = ['gzip', 'identity', 'br', undefined, 'zstd', browser]
    const answers = await Promise.all(codings.map((coding) => get(coding)))
    expect(answers.map(plain)).toEqual(codings.map(() => html))
    expect(answers[1]!.field('content-encoding')).toBeNull()
    expect(asked(site)).toEqual(['gzip'])
  })

  it('a page that is not stored reaches the visitor as the shop has compressed it', async () => {
    const { site, get } = await open((request) => compressing(request, html, { 'Cache-Control': 'private, no-store' }))
    const answer = await get(browser)
    expect([answer.field('content-encoding'), answer.field('etag'), plain(answer)]).toEqual(['gzip', '"a-gzip"', html])
    const other = await get()
    expect([other.field('content-encoding'), other.text]).toEqual([null, html])
    expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
  })

  it('a value of the request is found in a compressed body', async () => {
    const { site, get } = await open((request) => compressing(request, `${html} oddly-told-7`))
    const answer = await get(browser, { 'User-Agent': 'oddly-told-7' })
    expect(answer.field('cache-status')).toContain("reflects the request's user-agent")
    expect(plain(answer)).toBe(`${html} oddly-told-7`)
    expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
  })

  it('a page with ESI markup is assembled', async () => {
    const { site, get } = await open(
      (request) =>
        request.target === '/a'
          ? compressing(request, `${html}${include('/_esi/menu')}`, { ...fields, ...markup })
          : compressing(request, 'the menu'),
      { esi: 'auto', esiPaths: ['/_esi/'] },
    )
    for (const coding of [browser, undefined, 'gzip']) expect(plain(await get(coding))).toBe(`${html}the menu`)
    expect(asked(site)).toEqual(['gzip', 'identity'])
  })

  it.each<[string, Buffer]>([
    ['of several members', Buffer.concat([zlib.gzipSync(html), zlib.gzipSync('more')])],
    ['that ends with a smaller size', Buffer.concat([zlib.gzipSync('x'.repeat(300_000)), Buffer.alloc(8)])],
  ])('a body %s is decoded', async (_, body) => {
    const { get } = await open(() => ({ fields: { ...fields, 'Content-Encoding': 'gzip' }, body }))
    expect((await get('gzip')).body.equals(body)).toBe(true)
    expect((await get()).text).toBe(zlib.gunzipSync(body).toString())
  })
})

describe.each<[string, Buffer]>([
  ['no gzip', Buffer.from('no gzip at all')],
  ['gzip that breaks off', zlib.gzipSync(html).subarray(0, -20)],
  ['gzip with a wrong checksum', withoutChecksum(zlib.gzipSync(html))],
  ['gzip with bytes behind it', Buffer.concat([zlib.gzipSync(html), Buffer.alloc(8, 0xff)])],
  ['large gzip that breaks off', zlib.gzipSync(html.repeat(100)).subarray(0, -20)],
  ['three bytes', Buffer.from('\u001F\u008B\b', 'latin1')],
])('a body that is %s', (_, body) => {
  const broken: Reply = { fields: { ...fields, 'Content-Encoding': 'gzip' }, body }

  it('is requested again without coding, as are other pages of that shop', async () => {
    const { site, get } = await open((request) =>
      request.fields.get('accept-encoding') === 'gzip' ? broken : { fields, body: html },
    )
    expect(plain(await get('gzip'))).toBe(html)
    expect(isHit(await get('gzip'))).toBe(true)
    expect(plain(await get('gzip', {}, '/b'))).toBe(html)
    expect(asked(site)).toEqual(['gzip', 'identity', 'identity'])
  })

  it('is an error from a shop that sends nothing else', async () => {
    const { site, get } = await open(() => broken)
    expect((await get('gzip')).status).toBe(502)
    expect((await get()).status).toBe(502)
    expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
  })
})

describe('a body in a coding that is not supported', () => {
  it.each(['gzip, gzip', 'deflate', 'compress', 'gzip,'])('%s is requested again without coding', async (coding) => {
    const { site, get } = await open((request) =>
      request.fields.get('accept-encoding') === 'gzip'
        ? { fields: { ...fields, 'Content-Encoding': coding }, body: 'coded somehow' }
        : { fields, body: html },
    )
    for (const accepted of ['gzip', browser, undefined]) expect(plain(await get(accepted))).toBe(html)
    await get('gzip', {}, '/b')
    expect(asked(site)).toEqual(['gzip', 'identity', 'identity'])
  })
})

it('a page that is broken in any coding does not end compression for others', async () => {
  const { site, get } = await open((request) =>
    request.target === '/bad'
      ? { fields: { ...fields, 'Content-Encoding': 'gzip' }, body: 'no gzip at all' }
      : compressing(request),
  )
  expect((await get('gzip', {}, '/bad')).status).toBe(502)
  await get('gzip')
  expect(asked(site)).toEqual(['gzip', 'identity', 'gzip'])
})

describe('HEAD of a stale page that came in gzip', () => {
  const lasting = { ...fields, 'Cache-Control': 'public, s-maxage=60, stale-if-error=6000' }

  it.each<[string, string | undefined, Fields]>([
    ['a weak tag', 'gzip', { ETag: 'W/"a"' }],
    ['a weak tag, without Accept-Encoding', undefined, { ETag: 'W/"a"' }],
    ['a tag that has become weak', undefined, { ETag: '"a"' }],
    ['a time', browser, { 'Last-Modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }],
  ])('renews it: %s', async (_, accepted, validator) => {
    const { site, get } = await open((request) => {
      const coded = request.fields.get('accept-encoding') === 'gzip'
      const body = coded ? zlib.gzipSync(html) : Buffer.from(html)
      const described = { ...lasting, ...validator, 'Content-Length': String(body.length) }
      const more = coded ? { ...described, 'Content-Encoding': 'gzip' } : described
      return { fields: more, body: request.method === 'HEAD' ? '' : body }
    })
    await get('gzip')
    site.wait(61)
    const head = await site.visit('/a', {
      method: 'HEAD',
      fields: accepted === undefined ? {} : { 'Accept-Encoding': accepted },
    })
    expect(head.field('cache-status')).toContain('stored')
    expect(isHit(await get('gzip'))).toBe(true)
    expect(site.origin.requests.map(({ method }) => method)).toEqual(['GET', 'HEAD'])
  })

  it('leaves it for errors of the shop when its tag is another', async () => {
    const { site, get } = await open((request) => {
      const reply = compressing(request, html, lasting)
      return request.method === 'HEAD' ? { ...reply, body: '' } : reply
    })
    await get('gzip')
    site.wait(61)
    expect((await site.visit('/a', { method: 'HEAD' })).field('cache-status')).toContain('without a matching validator')
    site.answers({ status: 503, fields: {}, body: 'down' })
    site.wait(61)
    for (const coding of ['gzip', undefined]) expect(plain(await get(coding))).toBe(html)
  })
})

describe('the shop is asked for no coding', () => {
  it.each<[string, Record<string, string>, Partial<CacheSettings>]>([
    ['a visitor who accepts no gzip', { 'Accept-Encoding': 'br' }, {}],
    ['a visitor who likes another one more', { 'Accept-Encoding': 'zstd, gzip;q=0.5' }, {}],
    ['a visitor who says nothing', {}, {}],
    ['a range', { 'Accept-Encoding': browser, Range: 'bytes=10-19' }, {}],
    ['an asset', { 'Accept-Encoding': browser }, { assets: ['/media'] }],
    ['a daemon that does not compress', { 'Accept-Encoding': browser }, { compression: false }],
  ])('for %s', async (_, sent, changes) => {
    const { site, get } = await open(undefined, changes)
    await get(undefined, sent, '/media/a')
    expect(asked(site)).toEqual(['identity'])
  })

  it('for a warmup, which compresses thoroughly', async () => {
    const { site, get } = await open()
    const fetchPage = toFetchPage(site.cache, site.now, 5000)
    expect(await fetchPage(`${shopUrl}/a`, { ...fetchOptions, headers: {} })).toMatchObject({ kind: 'stored' })
    expect(asked(site)).toEqual(['identity'])
    const answer = await get(browser)
    expect([isHit(answer), answer.field('content-encoding'), plain(answer)]).toEqual([true, 'br', html])
  })
})

describe('a stale page is validated in the coding that its entity tag belongs to', () => {
  it.each<[string, string | undefined]>([
    ['gzip', browser],
    ['identity', undefined],
  ])('%s', async (coding, accepted) => {
    const { site, get } = await open()
    await get(accepted)
    for (let times = 0; times < 2; times++) {
      site.wait(61)
      expect(plain(await get(browser))).toBe(html)
    }
    expect(asked(site)).toEqual([coding, coding, coding])
    expect(site.origin.requests.slice(1).every(({ fields: sent }) => sent.has('if-none-match'))).toBe(true)
    // Both were answered with 304: another response would have replaced the page.
    expect(site.store.findByUrl(`${shopUrl}/a`)).toMatchObject([{ originalSize: html.length }])
  })
})

describe('a compressed page that must not be changed', () => {
  it('is fetched again for all, and its shop is asked for no coding for an hour', async () => {
    const { site, get } = await open((request) => compressing(request, html, noTransform))
    for (const coding of [browser, undefined, 'gzip']) {
      const answer = await get(coding)
      expect([answer.field('content-encoding'), answer.text]).toEqual([null, html])
    }
    expect((await get(browser, {}, '/b')).text).toBe(html)
    expect(asked(site)).toEqual(['gzip', 'identity', 'identity'])
    site.wait(3601)
    expect((await get(browser, {}, '/c')).text).toBe(html)
    expect(asked(site).slice(3)).toEqual(['gzip', 'identity'])
  })

  it('is assembled if it has ESI markup', async () => {
    const { get } = await open(
      (request) =>
        request.target === '/a'
          ? compressing(request, `${html}${include('/_esi/menu')}`, { ...noTransform, ...markup })
          : compressing(request, 'the menu'),
      { esi: 'auto', esiPaths: ['/_esi/'] },
    )
    for (const coding of [browser, undefined]) expect(plain(await get(coding))).toBe(`${html}the menu`)
  })

  it('is passed on by a shop that knows no other', async () => {
    const body = zlib.gzipSync(html)
    const { site, get } = await open(() => ({ fields: { ...noTransform, 'Content-Encoding': 'gzip' }, body }))
    for (const coding of [browser, 'gzip']) expect((await get(coding)).body.equals(body)).toBe(true)
    expect(asked(site)).toEqual(['gzip', 'identity'])
  })
})
