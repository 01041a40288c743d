import { describe, expect, it } from 'vitest'
import { isHit, shopUrl } from './site.ts'
import { until } from '../helpers/until.ts'
import { open, shared, type ShopOptions } from './variant-shop.ts'

describe.each<[string, ShopOptions]>([
  ['Shopware', {}],
  ['Shopware with the hash in each response', { marks: true }],
  ['a shop that never corrects a hash', { silent: true }],
])('%s', (_, options) => {
  it('visitors of a customer group share a page across sessions', async () => {
    const { get, login } = await open(options)
    const [first, second] = [await login('A', '1'), await login('A', '2')]
    expect((await get(first)).text).toBe('page of GROUPA')
    const again = await get(second)
    expect(again.text).toBe('page of GROUPA')
    expect(isHit(again)).toBe(true)
    expect((await get(first, '/p', false)).hot).toBe(true)
  })

  it.each([
    ['no session', 'sw-cache-hash=GROUPA'],
    ['an invented session', 'session=invented; sw-cache-hash=GROUPA'],
    ["another group's session", 'session=session-of-B-1; sw-cache-hash=GROUPA'],
    ['cookies other than the session', '_ga=1; theme=dark; sw-cache-hash=GROUPA'],
  ])('a hash with %s does not poison the page of the group', async (_name, forged) => {
    const { get, login } = await open(options)
    const member = await login('A', '1')
    await login('B', '1')
    await get(forged)
    expect((await get(member)).text).toBe('page of GROUPA')
    await get(forged, '/later')
    expect((await get(await login('A', '2'), '/later')).text).toBe('page of GROUPA')
    expect((await get(null)).text).toBe('page for all')
  })

  it('hundreds of forged hashes evict no page of confirmed visitors', async () => {
    const { site, get, login } = await open(options)
    const member = await login('A', '1')
    await get(member)
    await get(null)
    for (let number = 0; number < 200; number++) await get(`sw-cache-hash=forged${number}`)
    expect(isHit(await get(member))).toBe(true)
    expect(isHit(await get(null))).toBe(true)
    expect(site.store.findByUrl(`${shopUrl}/p`).length).toBeLessThanOrEqual(65)
  })

  it('analytics cookies do not affect the confirmation', async () => {
    const { get, login } = await open(options)
    const [first, second] = [await login('A', '1'), await login('A', '2')]
    await get(`_ga=GA1.1; ${first}; _ga_ABC=GS1.1; cookie-preference=1`)
    expect(isHit(await get(`${second}; _gid=2`))).toBe(true)
  })
})

describe('a response that changes a variant cookie', () => {
  it.each([
    ['sets it', null, 'sw-cache-hash=GROUPA; Path=/'],
    ['changes it', 'sw-cache-hash=OLD', 'sw-cache-hash=GROUPA; Path=/'],
    ['deletes it by Max-Age', 'sw-cache-hash=OLD', 'sw-cache-hash=OLD; Max-Age=0'],
    ['deletes it by Expires', 'sw-cache-hash=OLD', 'sw-cache-hash=OLD; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
    ['empties it', 'sw-cache-hash=OLD', 'sw-cache-hash=; Path=/'],
    ['sets another variant cookie', 'sw-cache-hash=OLD', 'sw-currency=USD'],
  ])('%s: not stored, and the visitor gets the cookie', async (_, cookie, change) => {
    const { site, get } = await open()
    site.answers({ fields: { ...shared, 'Set-Cookie': change }, body: 'page' })
    const first = await get(cookie)
    expect(first.field('set-cookie')).toBe(change)
    expect(first.field('cache-status')).toMatch(/changes the variant cookie sw-c/)
    expect(isHit(await get(cookie))).toBe(false)
    expect(site.store.findByUrl(`${shopUrl}/p`)).toEqual([])
  })

  it('a 304 that does so does not renew the page', async () => {
    const { site, get } = await open()
    site.answers({ fields: { ...shared, ETag: '"a"' }, body: 'page for all' })
    await get(null)
    site.wait(70)
    site.answers({ status: 304, fields: { ...shared, ETag: '"a"', 'Set-Cookie': 'sw-cache-hash=GROUPA' } })
    expect((await get('session=a')).field('set-cookie')).toBe('sw-cache-hash=GROUPA')
    site.answers({ fields: shared, body: 'new page for all' })
    expect((await get(null)).text).toBe('new page for all')
  })

  it('is not shared with waiting visitors', async () => {
    const { site, get } = await open()
    let count = 0
    let release = () => {}
    const first = new Promise<void>((resolve) => (release = resolve))
    site.answers(async ({ fields }) => {
      if (count++ === 0) await first
      return fields.has('cookie')
        ? { fields: { ...shared, 'Set-Cookie': 'sw-cache-hash=GROUPA' }, body: 'page of GROUPA' }
        : { fields: shared, body: 'page for all' }
    })
    const member = get('session=a')
    await until(() => expect(site.origin.requests.length).toBe(1))
    const others = [get(null), get(null)]
    release()
    expect((await member).text).toBe('page of GROUPA')
    for (const other of others) expect((await other).text).toBe('page for all')
  })

  it('does not replace the page in a background revalidation', async () => {
    const { site, get } = await open()
    const fields = { 'Cache-Control': 'public, max-age=10, stale-while-revalidate=600' }
    site.answers({ fields, body: 'page for all' })
    await get(null)
    site.wait(20)
    site.answers({ fields: { ...fields, 'Set-Cookie': 'sw-cache-hash=GROUPA' }, body: 'page of GROUPA' })
    await get('session=a')
    await until(() => expect(site.origin.requests.length).toBe(2))
    site.answers({ fields, body: 'page for all' })
    expect((await get(null)).text).toBe('page for all')
  })

  it('other cookies are stripped from a public page', async () => {
    const { site, get } = await open()
    site.answers({ fields: { ...shared, 'Set-Cookie': 'session=a' }, body: 'page' })
    await get(null)
    expect(isHit(await get(null))).toBe(true)
  })

  it('a response marked with another hash is not stored', async () => {
    const { site, get } = await open()
    site.answers({ fields: { ...shared, 'sw-cache-hash': 'GROUPA' }, body: 'page of GROUPA' })
    expect((await get(null)).field('cache-status')).toMatch(/a different sw-cache-hash/)
    expect((await get('sw-cache-hash=OLD')).field('cache-status')).toMatch(/a different sw-cache-hash/)
    await get('session=a; sw-cache-hash=GROUPA')
    expect(isHit(await get('session=b; sw-cache-hash=GROUPA'))).toBe(true)
  })
})
