import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { Fields, OriginRequest } from './scripted-origin.ts'
import { openSite } from './site.ts'

const page = { fields: { 'Cache-Control': 'public, max-age=600', 'Content-Type': 'text/html' }, body: 'for all' }

async function open(changes: Partial<CacheSettings>) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  return site
}

describe('cookies that PHP takes for others', () => {
  const settings = {
    variants: { cookies: ['customer_group'], headers: [] },
    bypass: { cookies: ['logged_in', 'wp_*'], paths: [] },
    emptyPaths: ['/info'],
  }

  it.each([
    'logged_in=1',
    'logged.in=1',
    'logged in=1',
    'logged[in=1',
    'a=b; logged_in[0]=1',
    'logged.in[0]=1',
    'wp_user=1',
    'wp.user=1',
    'customer.group=b',
    'customer group=b',
    'customer_group[]=b',
  ])('%j is passed to the shop, whether the page is cached or not', async (cookie) => {
    const site = await open(settings)
    site.answers(page)
    for (const path of ['/a', '/b']) for (let count = 0; count < 2; count++) await site.visit(path)
    expect(await site.visit('/a')).toMatchObject({ hot: true })
    for (const path of ['/a', '/b', '/new', '/info'])
      for (const long of [false, true]) {
        const answer = await site.visit(path, { fields: { Cookie: cookie }, long })
        expect(answer.hot, `${path} ${long}`).toBe(false)
        expect(answer.field('cache-status'), `${path} ${long}`).toContain('fwd=bypass')
      }
  })

  it.each(['loggedXin=1', 'wpXuser=1', 'customer-group=b', 'other=logged.in'])('%j does not matter', async (cookie) => {
    const site = await open(settings)
    site.answers(page)
    await site.visit('/a')
    await site.visit('/a')
    expect((await site.visit('/a', { fields: { Cookie: cookie } })).field('cache-status')).toContain('hit')
  })
})

describe('empty variants', () => {
  const settings = { variants: { cookies: ['grp', 'one | two'], headers: ['X-B2B'] } }
  const has = (request: OriginRequest, name: string) => request.fields.has(name)
  const names = ({ fields }: OriginRequest) =>
    (fields.get('cookie') ?? '').split('; ').map((pair) => pair.split('=', 1)[0])

  it.each<[Fields]>([
    [{ Cookie: 'grp=' }],
    [{ Cookie: 'grp' }],
    [{ Cookie: 'one=; two=' }],
    [{ 'X-B2B': '' }],
    [{ 'X-B2B': '', Cookie: 'grp=; one=' }],
  ])('%o has the key of requests without them, and the shop does not get it', async (fields) => {
    const site = await open(settings)
    site.answers((request: OriginRequest) => ({
      ...page,
      body: `b2b ${has(request, 'x-b2b')}, cookies ${names(request).filter(Boolean).join()}`,
    }))
    expect((await site.visit('/a', { fields })).field('cache-status')).toContain('stored')
    const other = await site.visit('/a')
    expect(other.field('cache-status')).toContain('hit')
    expect(other.text).toBe('b2b false, cookies ')
  })

  it('with a value they reach the shop', async () => {
    const site = await open(settings)
    site.answers((request: OriginRequest) => ({ ...page, body: `${has(request, 'x-b2b')} ${names(request).join()}` }))
    const fields = { 'X-B2B': '1', Cookie: 'grp=a; one=; two=b' }
    expect((await site.visit('/a', { fields })).text).toBe('true grp,two')
  })
})
