import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { toChannel } from '../../src/cache/channel.ts'
import { storableHeaders } from '../../src/cache/forward.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { isHit, openSite, shopUrl, toVisit, type VisitOptions } from './site.ts'

const html = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'text/html; charset=utf-8' }

async function open(answers: (request: OriginRequest) => Reply, settings: Partial<CacheSettings> = {}) {
  const site = await openSite(settings)
  onTestFinished(() => site.close())
  site.answers(answers)
  return (fields: VisitOptions['fields'] = {}) => site.visit('/p', { long: true, fields })
}

/** What an attacker sends must not reach others, and the page of the others is cached. */
async function expectClean(
  answers: (request: OriginRequest) => Reply,
  attack: NonNullable<VisitOptions['fields']>,
  { victim = {}, settings = {} }: { victim?: VisitOptions['fields']; settings?: Partial<CacheSettings> } = {},
): Promise<void> {
  const visit = await open(answers, settings)
  const attacked = await visit(attack)
  const clean = await visit(victim)
  expect(clean.text).not.toBe(attacked.text)
  expect((await visit(victim)).text).toBe(clean.text)
  expect(isHit(await visit(victim))).toBe(true)
}

/** A page with what a shop makes of a field. */
const reflects =
  (name: string, make: (value: string) => string = (value) => value, more: Record<string, string> = {}) =>
  ({ fields }: OriginRequest): Reply => ({
    fields: { ...html, ...more },
    body: `page [${make(fields.get(name) ?? '')}]`,
  })

const map = (source: { header: string }, pattern: string) => ({
  variants: {
    cookies: [],
    headers: [],
    map: { kind: { ...source, fromProxy: false, classes: { special: [pattern] }, default: 'other' } },
  },
})

describe('a field that Vary names', () => {
  it.each([
    ['de;"><script src=//evil.example/x></script>', 'de'],
    ['de-DE,de;q=0.9;x="><script>,en;q=0.8', 'de-DE,de;q=0.9,en;q=0.8'],
    ['zz"><script>', 'de'],
  ])('and that the key has without its parameters: %s', async (evil, plain) => {
    const page = reflects('accept-language', undefined, { Vary: 'Accept-Language', 'Content-Language': 'de' })
    await expectClean(page, { 'Accept-Language': evil }, { victim: { 'Accept-Language': plain } })
  })

  it('chooses the page by its language', async () => {
    const visit = await open(({ fields }) => ({
      status: 302,
      fields: {
        ...html,
        Vary: 'Accept-Language',
        Location: `/${(fields.get('accept-language') ?? 'en').slice(0, 2)}/`,
      },
    }))
    for (const language of ['de', 'en']) {
      await visit({ 'Accept-Language': language })
      const again = await visit({ 'Accept-Language': language })
      expect([again.field('location'), isHit(again)]).toEqual([`/${language}/`, true])
    }
  })

  it.each([
    ['User-Agent', 'Mobile "><script src=//evil.example/x></script>', 'Mobile Safari', '*mobile*'],
    ['User-Agent', 'Mobile evilcanary', 'Mobile Safari', '*mobile*'],
    ['Accept-Language', 'de, evil', 'de', 'de*'],
    ['Foo', 'special evil', 'special', 'special*'],
  ])('and whose class the key has, with %s: %s', async (name, evil, plain, pattern) => {
    const settings = map({ header: name.toLowerCase() }, pattern)
    const page = reflects(name.toLowerCase(), (value) => /evil\w*|<.*>/.exec(value)?.[0] ?? '', { Vary: name })
    await expectClean(page, { [name]: evil }, { victim: { [name]: plain }, settings })
  })

  it('and whose class the key has, where the page repeats nothing', async () => {
    const visit = await open(
      ({ fields }) => ({
        fields: { ...html, Vary: 'User-Agent' },
        body: /mobile/i.test(fields.get('user-agent') ?? '') ? 'small' : 'large',
      }),
      map({ header: 'user-agent' }, '*mobile*'),
    )
    await visit({ 'User-Agent': 'Mozilla/5.0 (Linux; Android 14) Mobile' })
    const other = await visit({ 'User-Agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile' })
    expect([other.text, isHit(other)]).toEqual(['small', true])
  })
})

describe('what a shop makes of a field of an unknown name', () => {
  const escaped = (value: string, write: (code: number) => string) =>
    value.replace(/[^\w]/g, (char) => write(char.charCodeAt(0)))
  it.each<[string, string, (value: string) => string]>([
    ['what follows a word', 'Bearer theword here"*alert(1)*"', (value) => value.slice(7)],
    ['the last of many words', `a b c d "-alert(1)-"`, (value) => value.slice(8)],
    [
      'a path, escaped as OWASP demands',
      '//wickedhost/scripts',
      (value) => escaped(value, (code) => `&#x${code.toString(16)};`),
    ],
    ['one of a list', 'wickeduser|guest', (value) => value.split('|')[0]!],
    [
      'Twig for scripts',
      'wicked content',
      (value) => escaped(value, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
    ],
    ['JSON', 'wicked"content', (value) => escaped(value, (code) => `\\u${code.toString(16).padStart(4, '0')}`)],
    ['PHP for URLs', 'b (c)', (value) => escaped(value, (code) => (code === 32 ? '+' : `%${code.toString(16)}`))],
    ['a word that is cut off', 'wickedcontentisking', (value) => value.slice(0, 12)],
    ['the start of it', `wickedcontent and more`, (value) => value.slice(0, 13)],
  ])('%s', async (_, value, make) => {
    await expectClean(reflects('foo', make), { Foo: value })
  })

  it('its name', async () => {
    const names = ({ fields }: OriginRequest): Reply => ({
      fields: html,
      body: [...fields.keys()].filter((name) => name.includes('alert') || name.includes('wicked')).join(' '),
    })
    await expectClean(names, { "'-alert`1`-'": '1' })
    await expectClean(names, { 'wicked-name': '1' })
    await expectClean(names, { "'-alert`1`-'": 'shop.example' })
  })

  it.each(['text/plain', 'utf-7x'])('its type: %s', async (value) => {
    const visit = await open(({ fields }) => ({
      fields: { ...html, 'Content-Type': fields.get('foo')?.replace(/^utf/, 'text/html; charset=utf') ?? 'text/html' },
      body: 'page',
    }))
    await visit({ Foo: value })
    expect((await visit()).field('content-type')).toBe('text/html')
  })
})

describe('what a shop makes of a cookie', () => {
  it.each([
    ['{"name":"\\u0022*alert(1)*\\u0022"}'],
    ['%7B%22a%22%3A%5B%7B%22b%22%3A%22%27-alert%281%29-%27%22%7D%5D%7D'],
  ])('with JSON: %s', async (json) => {
    const strings = (value: string) =>
      JSON.stringify(JSON.parse(decodeURIComponent(value || '""'))).replaceAll('\\"', '"')
    await expectClean(
      reflects('cookie', (value) => strings(value.slice(5)).replace(/^.*:"|"[\]}]*$/g, '')),
      { Cookie: `pref=${json}` },
    )
  })

  it('with a sentence in JSON', async () => {
    const name = (value: string) => /"name":"([^"]*)/.exec(decodeURIComponent(value))?.[1] ?? ''
    await expectClean(reflects('cookie', name), { Cookie: 'pref=%7B%22name%22%3A%22closed%20today%22%7D' })
  })

  it('that PHP takes for one of the key', async () => {
    const settings = { variants: { cookies: ['customer_group'], headers: [] } }
    const asPhp = (value: string) => /(?:^|; )customer[ ._[]group(?:\[\w*\])?=([^;]*)/.exec(value)?.[1] ?? ''
    for (const name of ['customer.group', 'customer group', 'customer[group', 'customer_group[]', 'customer.group[x]'])
      await expectClean(
        reflects('cookie', (value) => (asPhp(value) === 'vip' ? 'price 5' : 'price 9')),
        { Cookie: `${name}=vip` },
        { settings },
      )
  })
})

describe("the visitor's address", () => {
  it('is not stored with a page', async () => {
    const visit = await open(reflects('x-forwarded-for', (value) => `Your address: ${value}.`))
    expect((await visit()).text).toContain('192.0.2.7')
    expect((await visit()).field('cache-status')).toContain("reflects the request's x-forwarded-for")
  })

  it('is searched for as it is, without port, brackets and prefix; other text of a proxy is not passed on', () => {
    const visit = {
      ...toVisit('/p'),
      forwardedFor: 'bad.cafe, [2001:db8::1]:443, 203.0.113.7:5678, ::ffff:198.51.100.4, 10.0.0.1',
    }
    const { addresses, headers } = storableHeaders(
      visit,
      toChannel({ id: 'c1', name: 'Shop', url: shopUrl, origin: 'http://127.0.0.1' }),
      new Map(),
    )
    expect(addresses).toEqual(['2001:db8::1', '203.0.113.7', '198.51.100.4'])
    expect(new Map(headers).get('x-forwarded-for')).toBe(
      '[2001:db8::1]:443, 203.0.113.7:5678, ::ffff:198.51.100.4, 10.0.0.1',
    )
  })

  it('is no part of another number', async () => {
    const visit = await open(() => ({ fields: html, body: 'version 192.0.2.77, number 8192.0.2.7' }))
    await visit()
    expect(isHit(await visit())).toBe(true)
  })
})

describe('a condition that reaches the shop', () => {
  it('is not stored where the page repeats it', async () => {
    await expectClean(reflects('if-range'), { Range: 'bytes=0-99', 'If-Range': '"//evil.example/x.js"' })
  })

  it('may be the tag of the page', async () => {
    const visit = await open(() => ({ fields: { ...html, ETag: '"version-1"' }, body: 'page' }))
    await visit({ Range: 'bytes=0-99', 'If-Range': '"version-1"' })
    expect(isHit(await visit())).toBe(true)
  })
})

describe('a body that cannot be searched is not stored', () => {
  it.each([
    ['in UTF-16', { 'Content-Type': 'text/html; charset="UTF-16LE"' }, Buffer.from('page', 'utf16le')],
    ['in two codings', { 'Content-Encoding': 'gzip, gzip' }, Buffer.from('page')],
    ['in deflate', { 'Content-Encoding': 'deflate' }, Buffer.from('page')],
  ])('%s', async (_, fields, body) => {
    const visit = await open(() => ({ fields: { ...html, ...fields }, body }))
    await visit()
    expect(isHit(await visit())).toBe(false)
  })

  it('with bytes behind the end of brotli', async () => {
    const body = Buffer.concat([brotliCompressSync('page'), Buffer.from('garbage')])
    const visit = await open(() => ({ fields: { ...html, 'Content-Encoding': 'br' }, body }))
    expect((await visit({ 'Accept-Encoding': 'br' })).status).toBe(502)
  })
})
