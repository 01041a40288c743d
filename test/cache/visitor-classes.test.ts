import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectUrl } from '../../src/cache/inspect.ts'
import { VisitorClassifier } from '../../src/cache/visitor-classes.ts'
import { toFetchPage } from '../../src/warmup/run/fetch-page.ts'
import { fetchOptions } from '../helpers/fetch-options.ts'
import { openSite, shopUrl, type Site, type VisitOptions } from './site.ts'

const map = {
  device: {
    header: 'user-agent',
    fromProxy: false,
    classes: { tablet: ['*iPad*'], mobile: ['*Mobile*', '*Android*'] },
    default: 'desktop',
  },
  country: { header: 'cf-ipcountry', fromProxy: true, classes: { dach: ['DE', 'AT', 'CH'] }, default: 'world' },
  group: { cookie: 'ab', fromProxy: false, classes: { b: ['b', 'b-*'] }, default: 'a' },
}
const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'
const otherPhone = phone.replaceAll('18', '17')
const laptop = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'text/html' }

describe("visitors' classes", () => {
  let site: Site
  beforeEach(async () => {
    site = await openSite({ variants: { cookies: ['sw-cache-hash'], headers: [], map } })
    site.answers((request) => ({
      fields,
      body: ['device', 'country', 'group'].map((name) => request.fields.get(`x-variant-${name}`)).join(' '),
    }))
  })
  afterEach(() => site.close())

  /** What a visitor gets: the page, and whether the shop was asked. */
  const see = async (sent: Record<string, string>, more: VisitOptions = {}, target = '/a') => {
    const before = site.origin.requests.length
    const { text } = await site.visit(target, { fields: sent, ...more })
    return `${text}${site.origin.requests.length > before ? ' (shop)' : ''}`
  }

  it.each([false, true])('share a page, on the hot path and on the regular one: %s', async (long) => {
    expect(await see({ 'User-Agent': phone }, { long })).toBe('mobile world a (shop)')
    expect(await see({ 'User-Agent': otherPhone }, { long })).toBe('mobile world a')
    expect(await see({ 'User-Agent': laptop }, { long })).toBe('desktop world a (shop)')
    expect(await see({}, { long })).toBe('desktop world a')
    expect(await see({ 'User-Agent': phone, Cookie: 'ab=b-2' }, { long })).toBe('mobile world b (shop)')
    expect(await see({ 'User-Agent': phone, Cookie: 'x=1; ab=B' }, { long })).toBe('mobile world b')
    expect((await site.visit('/a', { fields: { 'User-Agent': phone }, long })).hot).toBe(!long)
  })

  it('believe a header of the proxy from a trusted proxy only', async () => {
    for (const long of [false, true]) {
      expect(await see({ 'CF-IPCountry': 'AT' }, { long, trusted: true })).toBe(
        `desktop dach a${long ? '' : ' (shop)'}`,
      )
      expect(await see({ 'CF-IPCountry': 'DE' }, { long, trusted: true })).toBe('desktop dach a')
      expect(await see({ 'CF-IPCountry': 'DE' }, { long })).toBe(`desktop world a${long ? '' : ' (shop)'}`)
    }
    for (const { fields: sent } of site.origin.requests) expect(sent.has('cf-ipcountry')).toBe(false)
  })

  it('cannot be chosen by naming the class, neither in the key nor at the shop', async () => {
    const claims = { 'X-Variant-Device': 'mobile', 'x-variant-country': 'dach', X_Variant_Group: 'b' }
    expect(await see(claims)).toBe('desktop world a (shop)')
    expect(await see({})).toBe('desktop world a')
    await site.visit('/checkout/cart', { fields: { ...claims, Cookie: 'ab=b' } })
    const { fields: sent } = site.origin.requests.at(-1)!
    expect([...sent].filter(([name]) => /^x[-_]variant/.test(name))).toEqual([
      ['x-variant-device', 'desktop'],
      ['x-variant-country', 'world'],
      ['x-variant-group', 'b'],
    ])
    // A page that is not stored depends on whatever the visitor has sent.
    expect(sent.get('cookie')).toBe('ab=b')
  })

  it('keep the cookie that they replace from the shop, where the page may be stored', async () => {
    await see({ Cookie: 'ab=b-<script>' })
    expect(site.origin.requests[0]!.fields.get('cookie')).toBeUndefined()
    expect(await see({ Cookie: 'ab=b' })).toBe('desktop world b')
  })

  it.each([false, true])('of a cookie do not split assets, which have no cookies: %s', async (long) => {
    await site.close()
    site = await openSite({ assets: ['/media'], variants: { cookies: ['sw-cache-hash'], headers: [], map } })
    site.answers(({ fields: sent }) => ({
      fields,
      body: `${sent.get('x-variant-device')} ${sent.get('x-variant-group')}`,
    }))
    expect(await see({ Cookie: 'ab=b' }, { long }, '/media/a.css')).toBe('desktop a (shop)')
    for (const Cookie of ['ab=a', 'ab=b-2', 'x=1'])
      expect(await see({ Cookie }, { long }, '/media/a.css')).toBe('desktop a')
    expect(await see({}, { long }, '/media/a.css')).toBe('desktop a')
    expect(await see({ 'User-Agent': phone, Cookie: 'ab=b' }, { long }, '/media/a.css')).toBe('mobile a (shop)')
    expect(await see({ Cookie: 'ab=b', 'If-Match': '"x"' }, { long }, '/media/a.css')).toBe('desktop a (shop)')
    const warm = toFetchPage(site.cache, site.now, 5000)
    const headers = { 'x-variant-group': 'b' }
    expect(await warm(`${shopUrl}/media/a.css`, { ...fetchOptions, headers })).toEqual({ kind: 'fresh' })
  })

  it('stand for the header that they replace in Vary', async () => {
    site.answers({ fields: { ...fields, Vary: 'User-Agent, X-Variant-Device, CF-IPCountry' }, body: 'page' })
    for (const long of [false, true]) {
      expect(await see({ 'User-Agent': phone }, { long })).toBe(`page${long ? '' : ' (shop)'}`)
      expect(await see({ 'User-Agent': otherPhone }, { long })).toBe('page')
      expect(await see({ 'User-Agent': laptop }, { long })).toBe(`page${long ? '' : ' (shop)'}`)
    }
  })

  it('do not let an implausible header into a page', async () => {
    site.answers((request) => ({ fields, body: `made for ${request.fields.get('user-agent')}` }))
    const odd = 'Mobile <script>alert(1)</script>'
    await see({ 'User-Agent': odd })
    expect(await see({ 'User-Agent': phone })).toBe(`made for ${phone} (shop)`)
  })

  it('share the errors that the shop may store', async () => {
    site.answers({ status: 404, fields, body: 'none' })
    await see({ 'User-Agent': phone })
    expect(await see({ 'User-Agent': otherPhone })).toBe('none')
  })

  it('are warmed by the header that decides, or by name', async () => {
    const fetchPage = toFetchPage(site.cache, site.now, 5000)
    const warm = (headers: Record<string, string>) => fetchPage(`${shopUrl}/a`, { ...fetchOptions, headers })
    expect(await warm({ 'user-agent': phone, 'cf-ipcountry': 'CH' })).toMatchObject({ kind: 'stored' })
    expect(await warm({ 'x-variant-device': 'tablet', 'x-variant-group': 'b' })).toMatchObject({ kind: 'stored' })
    expect(await warm({ 'x-variant-device': 'tablet', 'x-variant-group': 'b' })).toEqual({ kind: 'fresh' })
    expect(await warm({ 'x-variant-device': 'unknown' })).toMatchObject({ kind: 'stored' })
    expect(await see({ 'User-Agent': otherPhone, 'CF-IPCountry': 'DE' }, { trusted: true })).toBe('mobile dach a')
    expect(await see({ 'User-Agent': 'Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X)', Cookie: 'ab=b' })).toBe(
      'tablet world b',
    )
    expect(await see({})).toBe('desktop world a')
  })

  it('are shown by an inspection', async () => {
    await see({ 'User-Agent': phone })
    const { explanation } = await inspectUrl(
      site.cache,
      site.store,
      `${shopUrl}/a`,
      site.now(),
      new AbortController().signal,
    )
    expect(explanation.join('\n')).toContain(
      'Variants by cookie sw-cache-hash, header x-variant-device, header x-variant-country',
    )
    expect(explanation.join('\n')).toContain(
      'header x-variant-device=mobile; header x-variant-country=world; header x-variant-group=a',
    )
  })
})

describe('classifying a value', () => {
  const classOf = (value: string, classes: Record<string, string[]>) =>
    new VisitorClassifier({ d: { header: 'h', fromProxy: false, classes, default: 'other' } })
      .classesOf({ field: () => value, cookies: new Map(), isTrusted: false })!
      .get('x-variant-d')

  it('takes the first class that matches, without regard to case', () => {
    const classes = { one: ['a*', 'b?'], two: ['*a*', '[xy]z'] }
    expect(['ABC', 'ba', 'YZ', 'b?', ''].map((value) => classOf(value, classes))).toEqual([
      'one',
      'two',
      'two',
      'one',
      'other',
    ])
  })

  it('looks at the beginning of a long value, however repetitive it is', () => {
    expect(classOf(`${'a'.repeat(60_000)}b`, { one: ['*a*a*a*a*a*a*b'] })).toBe('other')
    expect(classOf(`a${'b'.repeat(60_000)}`, { one: ['a*'] })).toBe('one')
  })
})
