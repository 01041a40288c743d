import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LedgerFile } from '../../src/pages/ledger-file.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { cookieChanges } from '../../src/cache/set-cookie.ts'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { noon, openSite, shopUrl, type Site } from './site.ts'
import { until } from '../helpers/until.ts'

const shared = { 'Cache-Control': 'public, s-maxage=60' }

interface ShopOptions {
  /** Sends the hash only at login. */
  silent?: boolean
  /** Sends the hash in each response, as Shopware does from 6.7.6. */
  marks?: boolean
}

/** A shop that derives the customer group from the session only and sets the hash as Shopware does. */
function shop({ silent = false, marks = false }: ShopOptions = {}): (request: OriginRequest) => Reply {
  return ({ method, target, fields }) => {
    const cookies = new Map((fields.get('cookie') ?? '').split('; ').map((pair) => pair.split('=') as [string, string]))
    if (method === 'POST') {
      const group = target.slice('/login/'.length)
      const session = `session-of-${group}-${fields.get('x-customer')}`
      return {
        fields: {
          'Cache-Control': 'private',
          'Set-Cookie': [`session=${session}; HttpOnly`, `sw-cache-hash=GROUP${group}; Path=/`],
        },
        body: 'in',
      }
    }
    const group = /^session-of-(\w)/.exec(cookies.get('session') ?? '')?.[1]
    const hash = group === undefined ? '' : `GROUP${group}`
    const differs = (cookies.get('sw-cache-hash') ?? '') !== hash
    const change =
      hash === ''
        ? 'sw-cache-hash=deleted; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; Path=/'
        : `sw-cache-hash=${hash}; Path=/`
    return {
      fields: {
        ...shared,
        ...(differs && !silent ? { 'Set-Cookie': change } : {}),
        ...(marks && hash !== '' ? { 'sw-cache-hash': hash } : {}),
      },
      body: hash === '' ? 'page for all' : `page of ${hash}`,
    }
  }
}

async function open(options?: ShopOptions, changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(shop(options))
  return { site, ...visitors(site) }
}

function visitors(site: Site) {
  const get = async (cookie: string | null, target = '/p', long = true) =>
    site.visit(target, { fields: cookie === null ? {} : { Cookie: cookie }, long })
  const login = async (group: string, customer: string) => {
    await site.visit(`/login/${group}`, { method: 'POST', fields: { 'X-Customer': customer } })
    return `session=session-of-${group}-${customer}; sw-cache-hash=GROUP${group}`
  }
  return { get, login }
}

const isHit = (answer: { field(name: string): string | null }) => /; hit/.test(answer.field('cache-status') ?? '')

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
