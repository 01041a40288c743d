import { describe, expect, it, onTestFinished } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { isHit, openSite } from './site.ts'

const shared = { 'Cache-Control': 'public, s-maxage=60' }

/** A shop that knows group and currency by the session alone, and changes one variant cookie at a time. */
function shop({ method, target, fields }: OriginRequest): Reply {
  const changes: Record<string, string[]> = {
    '/login': ['session=member-session-0123456789; HttpOnly', 'sw-cache-hash=GROUPA; Path=/'],
    '/euro': ['sw-currency=EUR; Path=/'],
    '/reset': ['sw-currency=; Path=/; Max-Age=0'],
    '/rotate': ['session=other; HttpOnly', 'sw-currency=EUR; Path=/'],
    '/guest': ['session=guest-session-0123456789; HttpOnly'],
  }
  const change = changes[target]
  if (change !== undefined) {
    const cache = method === 'POST' ? 'private' : 'public, s-maxage=60'
    return { fields: { 'Cache-Control': cache, 'Set-Cookie': change }, body: 'changed' }
  }
  const member = /session=member-session/.test(decodeURIComponent(fields.get('cookie') ?? ''))
  return { fields: shared, body: member ? 'page of GROUPA' : 'page for all' }
}

async function open() {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers(shop)
  const get = (cookie: string | null, target = '/p') =>
    site.visit(target, { fields: cookie === null ? {} : { Cookie: cookie }, long: true })
  const post = (cookie: string | null, target: string) =>
    site.visit(target, { method: 'POST', fields: cookie === null ? {} : { Cookie: cookie } })
  return { site, get, post }
}

const session = 'session=member-session-0123456789'
const member = `${session}; sw-cache-hash=GROUPA`

describe('a forged hash is not confirmed by a change of', () => {
  it.each([
    ['the currency', 'POST', '/euro', 'sw-cache-hash=GROUPA; sid=evil', '; sw-currency=EUR'],
    ['the currency by GET', 'GET', '/euro', 'sw-cache-hash=GROUPA; sid=evil', '; sw-currency=EUR'],
    ['a changed currency', 'POST', '/euro', 'sw-cache-hash=GROUPA; sid=evil; sw-currency=USD', '; sw-currency=EUR'],
    ['a deleted currency', 'POST', '/reset', 'sw-cache-hash=GROUPA; sid=evil; sw-currency=BOGUS', ''],
    ['a deleted currency by GET', 'GET', '/reset', 'sw-cache-hash=GROUPA; sid=evil; sw-currency=BOGUS', ''],
  ])('%s', async (_, method, target, cookie, currency) => {
    const { site, get, post } = await open()
    await post(null, '/login')
    await post(member, '/euro')
    await site.visit(target, { method, fields: { Cookie: cookie } })
    const forged = `sw-cache-hash=GROUPA; sid=evil${currency}`
    expect((await get(forged)).text).toBe('page for all')
    expect((await get(member + currency)).text).toBe('page of GROUPA')
  })
})

describe('a confirmed member', () => {
  it('stays confirmed when the shop sets and deletes another variant cookie', async () => {
    const { get, post } = await open()
    await post(null, '/login')
    await post(member, '/euro')
    await get(`${member}; sw-currency=EUR`, '/euros')
    expect(isHit(await get('sid=other; sw-cache-hash=GROUPA; sw-currency=EUR', '/euros'))).toBe(true)
    await post(`${member}; sw-currency=EUR`, '/reset')
    await get(member)
    expect(isHit(await get('sid=other; sw-cache-hash=GROUPA'))).toBe(true)
  })

  it('is not confirmed for a session that the same answer replaces', async () => {
    const { get, post } = await open()
    await post(null, '/login')
    await post(member, '/rotate')
    await get('session=other; sw-cache-hash=GROUPA; sw-currency=EUR')
    expect(isHit(await get('sid=x; sw-cache-hash=GROUPA; sw-currency=EUR'))).toBe(false)
  })
})

describe('a session that was given a variant and comes without it', () => {
  it.each([
    ['as it is', session],
    ['with one more cookie', `${session}; junk=1`],
    ['escaped', 'session=%6dember-session-0123456789'],
  ])('%s: fills nothing for others', async (_, cookie) => {
    const { get, post } = await open()
    await post(null, '/login')
    expect((await get(cookie)).text).toBe('page of GROUPA')
    expect((await get(null)).text).toBe('page for all')
    expect((await get('session=guest-session-0123456789')).text).toBe('page for all')
  })

  it('guests with a session, and with the same consent as a member, fill the page for all', async () => {
    const { get, post } = await open()
    const consent = 'consent={"stats":true,"marketing":false}; lang=de'
    await post(consent, '/login')
    await post(consent, '/guest')
    await get(`session=guest-session-0123456789; ${consent}`)
    expect(isHit(await get(null))).toBe(true)
  })
})
