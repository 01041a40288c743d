import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LedgerFile } from '../../src/pages/ledger-file.ts'
import { cookieChanges } from '../../src/cache/set-cookie.ts'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import { isHit, noon, shopUrl } from './site.ts'
import { open, shared, shop } from './variant-shop.ts'

describe('a confirmation', () => {
  it('ends when the shop deletes the hash', async () => {
    const { site, get, login } = await open({ silent: true })
    const member = await login('A', '1')
    site.answers({ fields: { 'Cache-Control': 'private', 'Set-Cookie': 'sw-cache-hash=; Max-Age=0' } })
    await get(member, '/account/logout')
    site.answers({ fields: shared, body: 'page for all' })
    await get(member)
    site.answers(shop({ silent: true }))
    expect((await get(await login('A', '2'))).text).toBe('page of GROUPA')
  })

  it('ends with a replaced session, but survives an additional cookie', async () => {
    const { site, get, login } = await open({ silent: true })
    const [first, second] = [await login('A', '1'), await login('A', '2')]
    site.answers({ fields: { 'Cache-Control': 'private', 'Set-Cookie': 'session=anonymous' } })
    await get(first, '/account/logout')
    site.answers({ fields: { 'Cache-Control': 'private', 'Set-Cookie': 'wishlist=1' } })
    await get(second, '/account')
    site.answers(shop({ silent: true }))
    await get('session=anonymous; sw-cache-hash=GROUPA')
    expect((await get(`${second}; wishlist=1`)).text).toBe('page of GROUPA')
    expect(isHit(await get(await login('A', '3')))).toBe(true)
  })

  it('is required for a currency as for a hash', async () => {
    const { site, get } = await open()
    site.answers(({ fields }) => ({
      fields: shared,
      body: /session=usd/.test(fields.get('cookie') ?? '') ? 'in USD' : 'in EUR',
    }))
    await get('sw-currency=USD')
    site.answers({ fields: { 'Cache-Control': 'private', 'Set-Cookie': 'sw-currency=USD' } })
    await site.visit('/checkout/configure', { method: 'POST', fields: { Cookie: 'session=usd' } })
    site.answers({ fields: shared, body: 'in USD' })
    expect((await get('session=usd; sw-currency=USD')).text).toBe('in USD')
  })

  it('is not required for cookies that visitors may choose', async () => {
    const { site, get } = await open(undefined, {
      variants: { cookies: ['theme'], headers: [], freeCookies: ['theme'] },
    })
    site.answers(({ fields }) => ({ fields: shared, body: fields.get('cookie') ?? '' }))
    await get('theme=dark')
    expect(isHit(await get('session=a; theme=dark'))).toBe(true)
  })

  it('is not required for the warmup, whose variants the operator chose', async () => {
    const { site, get } = await open()
    site.answers({ fields: shared, body: 'in USD' })
    const asked = classifyUrl(
      `${shopUrl}/p`,
      { cookie: 'sw-currency=USD' },
      new AbortController().signal,
      site.cache.classifying,
    )
    if (asked?.kind !== 'lookup') throw new Error('The URL is no lookup for the cache')
    await site.cache.warm(asked.lookup, new AbortController().signal)
    expect(isHit(await get('session=a; sw-currency=USD'))).toBe(true)
  })

  it('survives a restart and applies in every process', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'pagecache-confirmed-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const confirmedFile = join(directory, 'confirmed.sqlite')
    const one = await open({ silent: true }, { confirmedFile })
    const members = [await one.login('A', '1'), await one.login('A', '2')] as const
    const other = await open({ silent: true }, { confirmedFile })
    await other.get(members[0])
    expect(isHit(await other.get(members[1]))).toBe(true)
    // When the file vanishes, each visitor has pages of their own.
    await rm(directory, { recursive: true })
    const afresh = await open({ silent: true }, { confirmedFile })
    await afresh.get(members[0])
    const second = await afresh.get(members[1])
    expect([second.text, isHit(second)]).toEqual(['page of GROUPA', false])
    expect(isHit(await afresh.get(members[1]))).toBe(true)
  })
})

it('a ledger without a usable file keeps its entries in memory', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-ledger-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const ledger = new LedgerFile(directory, () => noon)
  ledger.add('a')
  expect([ledger.has('a'), ledger.has('b')]).toEqual([true, false])
  ledger.delete('a')
  expect(ledger.has('a')).toBe(false)
  ledger.close()
})

it.each<[string, string | null]>([
  ['a=b; Path=/', 'b'],
  ['a = b ;HttpOnly', 'b'],
  ['a="b"', '"b"'],
  ['a=b=c', 'b=c'],
  ['a=b; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'b'],
  ['a=b; max-age=-1', null],
  ['a=b; Max-Age=soon', 'b'],
  ['a=b; expires=Thu, 01-Jan-1970 00:00:01 GMT', null],
  ['a=b; Expires=Fri, 15 Jan 2027 12:00:00 GMT', 'b'],
  ['a=b; Expires=never', 'b'],
])('Set-Cookie: %s', (line, value) => {
  expect(cookieChanges([['Set-Cookie', line]], noon).get('a')).toBe(value)
})
