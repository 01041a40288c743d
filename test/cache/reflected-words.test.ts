import { describe, expect, it, onTestFinished } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { isHit, openSite, type VisitOptions } from './site.ts'

const shared = { 'Cache-Control': 'public, s-maxage=60' }
const html = { ...shared, 'Content-Type': 'text/html; charset=utf-8' }

async function open(answers: (request: OriginRequest) => Reply) {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers(answers)
  return (fields: VisitOptions['fields'] = {}, target = '/p') => site.visit(target, { long: true, fields })
}

const whole = (value: string) => value
const first = (value: string) => value.split(/[\s|,:;]/)[0]!

describe('what a shop takes from a field of an unknown name', () => {
  it.each<[string, string, (value: string) => string]>([
    ['Lang', 'de', whole],
    ['Country', 'US', whole],
    ['Theme', 'x1', whole],
    ['Foo', 'a', whole],
    ['Foo', 'a, b', first],
    ['Foo', 'ab cd', first],
    ['Foo', 'ab|cd', first],
    ['Foo', '1234', whole],
    ['Sec-Foo', 'bar', whole],
    ['Accept-Foo', 'bar', whole],
    ['Content-Language', 'de', whole],
    ['Last-Event-Id', 'x', whole],
    ['CDN-Loop', 'cloudflare; //evil.example/x.js', whole],
    ['CDN-Loop', 'cloudflare; evil', whole],
    ['Accept', 'text/html;q=6.6.6', whole],
    ['Accept-Charset', 'utf-8;q=6.6.6', whole],
    ['Service-Worker', 'evil', whole],
    ['CF-IPCountry', 'evil', whole],
  ])('%s: %s', async (name, value, take) => {
    const visit = await open(({ fields }) => ({
      fields: html,
      body: `page [${take(fields.get(name.toLowerCase()) ?? '')}]`,
    }))
    await visit({ [name]: value })
    expect((await visit()).text).toBe('page []')
    expect(isHit(await visit())).toBe(true)
  })

  it.each<[string, string]>([
    ['Lang', 'de'],
    ['Api-Key', 'k'],
    ['User', 'admin'],
    ['X-Forwarded-Theme', 'dark'],
    ['Preview-Mode', '1'],
  ])('%s does not choose the page for others', async (name, value) => {
    const visit = await open(({ fields }) => ({
      fields: html,
      body: fields.has(name.toLowerCase()) ? 'chosen' : 'page',
    }))
    await visit({ [name]: value })
    expect((await visit()).text).toBe('page')
  })

  it('is stored where Vary names it, or where the page does not have the word', async () => {
    const visit = await open(({ target, fields }) => ({
      fields: { ...html, ...(target === '/vary' ? { Vary: 'Lang' } : {}) },
      body: target === '/vary' ? `page [${fields.get('lang')}]` : 'page, and 1 and indeed',
    }))
    await visit({ Lang: 'de' }, '/vary')
    expect(isHit(await visit({ Lang: 'de' }, '/vary'))).toBe(true)
    await visit({ Foo: 'de', 'Req-Num': '1' })
    expect(isHit(await visit())).toBe(true)
  })
})

describe('a redirect', () => {
  it.each<[string, string]>([
    ['Foo', 'de'],
    ['Foo', 'a de b c d'],
    ['Accept-Language', 'de-DE,de;q=0.9'],
    ['Cookie', 'lang=de'],
    ['Cookie', 'a=1; lang=%64e'],
  ])('by %s: %s is not for everyone', async (name, value) => {
    const visit = await open(({ fields }) => ({
      status: 301,
      fields: { ...shared, Location: fields.has(name.toLowerCase()) ? 'http://shop.example/de/p' : '/en/p' },
    }))
    expect((await visit({ [name]: value })).field('cache-status')).toMatch(/reflects the request's/)
    expect((await visit()).field('location')).toBe('/en/p')
  })

  it('to the page of the same language is stored', async () => {
    const visit = await open(() => ({ status: 301, fields: { ...shared, Location: 'http://shop.example/de/p/' } }))
    await visit({ 'Accept-Language': 'de', Cookie: 'lang=de' }, '/de/p')
    expect(isHit(await visit({}, '/de/p'))).toBe(true)
  })
})

describe('what a shop takes from a cookie', () => {
  const value = (cookies: string) => /(?:^|; )pref=([^;]*)/.exec(cookies)?.[1] ?? ''
  it.each<[string, (cookies: string) => string]>([
    ['pref=evil1', value],
    ['pref=abc', value],
    ['pref=evilword|zz', (cookies) => first(value(cookies))],
    ['pref=evilword,zz', (cookies) => first(value(cookies))],
    ['pref=evilword:zz', (cookies) => first(value(cookies))],
    ['pref=evil%7Czz', (cookies) => first(decodeURIComponent(value(cookies)))],
    ['pref=evil.example|a', (cookies) => (cookies === '' ? '' : `<a href="//${first(value(cookies))}">`)],
    ['pref=zz|evilword', (cookies) => value(cookies).split('|')[1] ?? ''],
    ['evil.example=1', (cookies) => cookies.split('=')[0]!],
    ['//evil=1', (cookies) => cookies.split('=')[0]!],
  ])('%s', async (cookie, take) => {
    const visit = await open(({ fields }) => ({ fields: html, body: `page [${take(fields.get('cookie') ?? '')}]` }))
    await visit({ Cookie: cookie })
    expect((await visit()).text).toBe('page []')
    expect(isHit(await visit())).toBe(true)
  })

  it.each([
    'cookie=1',
    'lang=de',
    'consent=yes',
    'consent=accepted',
    'consent=necessary|statistics|marketing',
    'currency=EUR; country=DE',
    'consent={"stats":true,"marketing":false}',
    'theme=dark; view=grid',
    'PHPSESSID=7d1f0a6be44c2f8d; cookie-preference=1',
  ])('%s: a page with everyday words is stored', async (cookie) => {
    const body =
      '<html lang="de" class="dark grid">EUR DE yes 1 accepted necessary statistics {"marketing":1,"stats":2} cookie-preference</html>'
    const visit = await open(() => ({ fields: html, body }))
    await visit({ Cookie: cookie })
    expect(isHit(await visit())).toBe(true)
  })
})
