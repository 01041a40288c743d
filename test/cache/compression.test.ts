import zlib from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { encode } from '../../src/pages/codec.ts'
import { KeptEngine } from '../../src/pages/kept-engine.ts'
import type { Encoding } from '../../src/pages/page.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { openSite, plain, shopUrl } from './site.ts'

const html = `<!doctype html><title>Shoe</title>${'<p>A shoe like any other.</p>'.repeat(100)}`
const fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'text/html; charset=utf-8', ETag: '"a"' }

async function open(
  changes: Partial<CacheSettings> = {},
  reply: Parameters<Awaited<ReturnType<typeof openSite>>['answers']>[0] = { fields, body: html },
) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(reply)
  return {
    site,
    get: (coding?: string, more: Record<string, string> = {}) =>
      site.visit('/a', { fields: { ...(coding === undefined ? {} : { 'Accept-Encoding': coding }), ...more } }),
  }
}

describe('content negotiation', () => {
  it.each<[string | undefined, string | null]>([
    [undefined, null],
    ['', null],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['zstd', 'zstd'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'gzip'],
    ['zstd, gzip;q=0.5', 'zstd'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'zstd'],
    ['*;q=0', null],
    ['identity, gzip;q=0.5', null],
    ['deflate', null],
    ['identity;q=0', null],
  ])('%s: %s', async (accepted, coding) => {
    const { site, get } = await open()
    for (const answer of [await get(accepted), await get(accepted), await get(accepted)]) {
      expect(answer.field('content-encoding')).toBe(coding)
      expect(answer.field('content-length')).toBe(String(answer.body.length))
      expect(answer.field('etag')).toBe(coding === null ? '"a"' : 'W/"a"')
      expect(answer.field('vary')).toBe('Accept-Encoding')
      expect(plain(answer)).toBe(html)
    }
    expect(site.origin.requests).toHaveLength(1)
  })

  it('serves all codings from one origin request, and from the hot path the second time', async () => {
    const { site, get } = await open()
    for (const coding of ['gzip', 'br', 'zstd', 'identity']) expect(plain(await get(coding))).toBe(html)
    for (const coding of ['gzip', 'br', 'zstd', 'identity']) {
      const answer = await get(coding)
      expect(answer.hot).toBe(true)
      expect(answer.field('content-encoding')).toBe(coding === 'identity' ? null : coding)
      expect(plain(answer)).toBe(html)
    }
    expect(site.origin.requests).toHaveLength(1)
    const [page] = site.store.findByUrl(`${shopUrl}/a`)
    expect(page).toMatchObject({ encoding: 'gzip', originalSize: html.length })
    expect(page!.size).toBeLessThan(html.length / 4)
  })

  it('serves concurrent visitors of a miss, and frees the body that none of them gets', async () => {
    const large = html.repeat(8)
    const codings = ['gzip', 'identity', 'zstd', 'br', 'gzip']
    const { site, get } = await open({}, { fields, body: large })
    const freed = vi.spyOn(ArrayBuffer.prototype, 'transfer')
    onTestFinished(() => freed.mockRestore())
    const answers = await Promise.all(codings.map((coding) => get(coding)))
    expect(answers.map(plain)).toEqual(codings.map(() => large))
    expect(freed).toHaveBeenCalledTimes(1)
    expect(plain(await get('identity', { Range: 'bytes=10-19' }))).toBe(large.slice(10, 20))
    expect(site.origin.requests).toHaveLength(1)
  })

  it('transcodes once for concurrent visitors', async () => {
    const { get } = await open()
    await get('br')
    const compress = vi.spyOn(KeptEngine.prototype, 'run')
    onTestFinished(() => compress.mockRestore())
    const answers = await Promise.all(Array.from({ length: 50 }, () => get('gzip')))
    await get('gzip')
    expect(answers.map(plain)).toEqual(Array(50).fill(html))
    expect(compress).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['gzip', false, false],
    ['gzip', true, false],
    ['gzip, br', false, true],
    ['gzip, br', true, true],
    ['gzip, br;q=0.5', false, false],
  ])('hits of visitors who accept %s (long path: %s) recompress the page: %s', async (accepted, long, recode) => {
    const { site } = await open()
    const visit = () => site.visit('/a', { fields: { 'Accept-Encoding': accepted }, long })
    await visit()
    expect((await visit()).hot).toBe(!long)
    const record = vi.spyOn(site.store, 'recordHits')
    await site.stopCache()
    expect(record.mock.calls.flat(2)).toEqual([expect.objectContaining({ hits: 1, recode })])
  })

  it('HEAD has the headers of GET', async () => {
    const { site, get } = await open()
    const whole = await get('gzip')
    const head = await site.visit('/a', { method: 'HEAD', fields: { 'Accept-Encoding': 'gzip' } })
    for (const name of ['content-encoding', 'content-length', 'etag', 'vary', 'content-type'])
      expect(head.field(name), name).toBe(whole.field(name))
    expect(head.body).toHaveLength(0)
  })

  it('an encoded copy is revalidated by its weak entity tag', async () => {
    const { get } = await open()
    await get('br')
    const answer = await get('br', { 'If-None-Match': 'W/"a"' })
    expect(answer).toMatchObject({ status: 304 })
    expect(answer.field('etag')).toBe('W/"a"')
    expect(answer.field('vary')).toBe('Accept-Encoding')
    expect(answer.field('content-encoding')).toBeNull()
  })

  it('keeps the Vary of the shop and adds Accept-Encoding once', async () => {
    const { site, get } = await open({}, (request) => ({
      fields: { ...fields, Vary: request.target === '/a' ? 'Foo' : 'foo, accept-encoding' },
      body: html,
    }))
    expect((await get('br')).field('vary')).toBe('Foo, Accept-Encoding')
    expect((await site.visit('/b', { fields: { 'Accept-Encoding': 'br' } })).field('vary')).toBe('foo, accept-encoding')
  })
})

describe('not compressed', () => {
  it.each([
    ['no-transform', { ...fields, 'Cache-Control': 'public, s-maxage=60, no-transform' }, html],
    ['a picture', { ...fields, 'Content-Type': 'image/jpeg' }, html],
    ['a body without a type', { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"' }, html],
    ['a short page', fields, '<p>Short.</p>'],
    ['an empty page', fields, ''],
  ])('%s', async (_, given, body) => {
    const { site, get } = await open({}, { fields: given, body })
    for (const answer of [await get('br, gzip'), await get('br, gzip')]) {
      expect(answer.text).toBe(body)
      for (const [name, value] of Object.entries({ 'content-encoding': null, vary: null, etag: '"a"' }))
        expect(answer.field(name), name).toBe(value)
    }
    expect(site.store.findByUrl(`${shopUrl}/a`)[0]).toMatchObject({ encoding: 'identity', size: body.length })
  })

  it('a body that the shop has compressed, where no-transform forbids changing it', async () => {
    const body = zlib.gzipSync(html)
    const coded = { ...fields, 'Cache-Control': 'public, s-maxage=60, no-transform', 'Content-Encoding': 'gzip' }
    const { get } = await open({}, { fields: coded, body })
    for (const answer of [await get('br'), await get('br, gzip'), await get()]) {
      expect(answer.field('content-encoding')).toBe('gzip')
      expect(answer.body.equals(body)).toBe(true)
    }
    const { site } = await open({}, { fields: coded, body: zlib.gzipSync(`${html} oddly-told-7`) })
    const visit = { fields: { 'User-Agent': 'oddly-told-7' } }
    expect((await site.visit('/a', visit)).field('cache-status')).toContain("reflects the request's user-agent")
  })

  it('what the shop has compressed keeps a weak tag, since its bytes are others, and is validated by it', async () => {
    const coded = { ...fields, ETag: '"G"', 'Content-Encoding': 'gzip' }
    const { site, get } = await open({}, { fields: coded, body: zlib.gzipSync(html) })
    for (const answer of [await get(), await get()]) {
      expect(answer.text).toBe(html)
      expect(answer.field('etag')).toBe('W/"G"')
    }
    const resumed = { fields: { Range: 'bytes=20-', 'If-Range': '"G"' } }
    expect((await site.visit('/a', resumed)).status).toBe(200)
    site.answers({ status: 304, fields: { ...fields, ETag: '"G"' } })
    site.wait(61)
    for (const answer of [await get(), await get()]) {
      expect(answer.text).toBe(html)
      expect(answer.field('etag')).toBe('W/"G"')
    }
    expect(site.origin.requests).toHaveLength(2)
  })

  it('an empty body in gzip, which is no gzip', async () => {
    const { get } = await open({}, { fields: { ...fields, 'Content-Encoding': 'gzip' }, body: '' })
    for (const answer of [await get('gzip'), await get('gzip')]) {
      expect(answer.field('content-encoding')).toBeNull()
      expect(answer.field('content-length')).toBe('0')
    }
  })

  it('every page when compression is off', async () => {
    const { get } = await open({ compression: false })
    const answer = await get('br, gzip')
    expect(answer.field('content-encoding')).toBeNull()
    expect(answer.text).toBe(html)
  })

  it.each([
    ['deflate', 3],
    ['compress', 3],
    ['gzip, br', 3],
    ['x-odd', 1],
  ])(
    'a body in the unsupported coding %s, passed on unchanged, and not stored if clients may decode it',
    async (coding, requests) => {
      const { site, get } = await open({}, { fields: { ...fields, 'Content-Encoding': coding }, body: 'coded somehow' })
      for (const answer of [await get('br'), await get('br'), await get()]) {
        expect(answer.text).toBe('coded somehow')
        expect(answer.field('content-encoding')).toBe(coding)
        expect(answer.field('etag')).toBe('"a"')
      }
      expect(site.origin.requests).toHaveLength(requests)
    },
  )
})

describe('a shop that compresses without being asked', () => {
  it.each<Encoding>(['gzip', 'br', 'zstd'])(
    'with %s: stored as received, decoded for clients that do not accept it',
    async (coding) => {
      const body = await encode(Buffer.from(html), coding)
      const { site, get } = await open({}, { fields: { ...fields, 'Content-Encoding': coding }, body })
      for (const answer of [await get(coding), await get(coding)]) {
        expect(answer.body.equals(body)).toBe(true)
        expect(answer.field('content-encoding')).toBe(coding)
      }
      expect(plain(await get())).toBe(html)
      expect(plain(await get('gzip'))).toBe(html)
      expect(site.store.findByUrl(`${shopUrl}/a`)[0]).toMatchObject({
        encoding: coding,
        originalSize: html.length,
        size: body.length,
      })
      expect(site.origin.requests).toHaveLength(1)
    },
  )

  it('with a broken body: nothing is stored', async () => {
    const { site, get } = await open({}, { fields: { ...fields, 'Content-Encoding': 'gzip' }, body: 'no gzip at all' })
    expect((await get('gzip')).status).toBe(502)
    expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
  })

  it.each<Encoding>(['gzip', 'br', 'zstd'])(
    'with a %s bomb: passed on as received, neither decoded nor stored',
    async (coding) => {
      const bomb = await encode(Buffer.alloc(8 << 20), coding)
      const { site, get } = await open(
        { maxPageSize: 1 << 20 },
        { fields: { ...fields, 'Content-Encoding': coding }, body: bomb },
      )
      const answer = await get(coding)
      expect([answer.status, answer.body.equals(bomb), answer.field('content-encoding')]).toEqual([200, true, coding])
      expect(answer.field('cache-status')).toContain('detail="larger than cache.maxPageSize"')
      expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
    },
  )
})
