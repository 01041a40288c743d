import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { inFlight } from '../../../src/cache/in-flight.ts'
import { resultOf } from '../../../src/traffic/result.ts'
import { until } from '../../helpers/until.ts'
import type { Reply } from '../scripted-origin.ts'
import { include, lasting, markup, openEsiShop, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openEsiShop()
  onTestFinished(() => shop.close())
  shop.page('/_esi/good', lasting('good'))
})

const failures: [string, Reply, string][] = [
  ['is missing', { status: 404, body: 'nothing' }, 'status 404'],
  ['fails', { status: 500, body: 'a stack trace' }, 'status 500'],
  ['redirects', { status: 302, fields: { Location: '/_esi/good' } }, 'status 302'],
  ['breaks off', { body: 'half of it', breaks: 'within' }, 'failed: '],
  ['resets the connection', { breaks: 'before' }, 'failed: '],
  ['has a broken coding', lasting('no gzip', { 'Content-Encoding': 'gzip' }), 'failed: '],
  ['has an unknown coding', lasting('?', { 'Content-Encoding': 'compress' }), 'its coding is unknown'],
]

describe('a fragment that', () => {
  it.each(failures)('%s is left out, replaced, or fails the page', async (_, reply, reason) => {
    shop.page('/_esi/bad', reply)
    shop.page('/optional', template(`a${include('/_esi/bad', 'onerror="continue"')}b`))
    shop.page('/replaced', template(`a${include('/_esi/bad', 'alt="/_esi/good"')}b`))
    shop.page('/twice', template(`a${include('/_esi/bad', 'alt="/_esi/bad?2" onerror="continue"')}b`))
    shop.page('/_esi/bad?2', { status: 500 })
    shop.page('/needed', template(`a${include('/_esi/bad')}b`))
    const optional = await shop.visit('/optional')
    expect(optional).toMatchObject({ status: 200, text: 'ab' })
    expect(optional.field('cache-status')).toContain(reason)
    expect(optional.field('cache-control')).toBe('private, no-store')
    const again = await shop.visit('/optional')
    // Where the shop sent no answer at all, the page counts as one that failed.
    expect(resultOf(again.field('cache-status'))).toBe(
      again.field('cache-status')!.includes('fwd-status') ? 'miss' : 'error',
    )
    expect(await shop.visit('/replaced')).toMatchObject({ status: 200, text: 'agoodb' })
    expect(await shop.visit('/twice')).toMatchObject({ status: 200, text: 'ab' })
    const needed = await shop.visit('/needed')
    expect(needed.status).toBe(502)
    expect(needed.text).not.toContain('stack trace')
  })

  it('does not answer in time fails like any other', async () => {
    const slow = await openEsiShop({ timeouts: { connect: 10_000, headers: 2000, idle: 10_000, total: 60_000 } })
    onTestFinished(() => slow.close())
    slow.page('/_esi/slow', () => new Promise<Reply>(() => {}))
    slow.page('/optional', template(`a${include('/_esi/slow', 'onerror="continue"')}b`))
    slow.page('/needed', template(`a${include('/_esi/slow')}b`))
    const [optional, needed] = await Promise.all([slow.visit('/optional'), slow.visit('/needed')])
    expect(optional).toMatchObject({ status: 200, text: 'ab' })
    expect(needed.status).toBe(504)
  })

  it('fails is tried again at the next visit, without a request for the page', async () => {
    shop.page('/_esi/bad', { status: 500 })
    shop.page('/', template(`a${include('/_esi/bad', 'onerror="continue"')}b`))
    expect((await shop.visit('/')).text).toBe('ab')
    shop.page('/_esi/bad', lasting('good again'))
    expect((await shop.visit('/')).text).toBe('agood againb')
    expect((await shop.visit('/')).hot).toBe(true)
    expect(shop.asked('/')).toBe(1)
  })

  it('is replaced because it fails is tried again at the next visit', async () => {
    shop.page('/_esi/bad', { status: 404, fields: { 'Cache-Control': 'public, s-maxage=600', xkey: 'banner' } })
    shop.page('/', template(`a${include('/_esi/bad', 'alt="/_esi/good"')}b`))
    const replaced = await shop.visit('/')
    expect(replaced.text).toBe('agoodb')
    expect(replaced.field('cache-control')).toBe('private, no-store')
    shop.page('/_esi/bad', lasting('good again', { xkey: 'banner' }))
    await shop.store.remove({ kind: 'tags', tags: ['banner'] })
    for (const hot of [false, true]) expect(await shop.visit('/')).toMatchObject({ text: 'agood againb', hot })
    expect(shop.asked('/')).toBe(1)
  })

  it('is replaced because of the page around it is included elsewhere', async () => {
    shop.page('/_esi/self', template(`self ${include('/_esi/within')}`))
    shop.page('/_esi/within', template(include('/_esi/self', 'alt="/_esi/good"')))
    expect((await shop.visit('/_esi/self')).text).toBe('self good')
    shop.page('/', template(include('/_esi/within')))
    expect((await shop.visit('/')).text).toBe('self ')
  })

  it('expired is served stale while it is renewed, and when the shop fails', async () => {
    shop.page('/', template(`${include('/_esi/menu')}.`, { 'Cache-Control': 'public, s-maxage=6000' }))
    const grants = 'public, s-maxage=60, stale-while-revalidate=30, stale-if-error=600'
    shop.page('/_esi/menu', lasting('old', { 'Cache-Control': grants }))
    await shop.visit('/')
    shop.wait(70)
    shop.page('/_esi/menu', lasting('new', { 'Cache-Control': grants }))
    expect((await shop.visit('/')).text).toBe('old.')
    await until(async () => (await shop.visit('/')).text === 'new.')
    shop.wait(100)
    shop.page('/_esi/menu', { status: 503 })
    expect((await shop.visit('/')).text).toBe('new.')
    expect(shop.asked('/')).toBe(1)
  })

  it('is stale makes the answer count as stale, and as a hit once it is renewed', async () => {
    shop.page('/', template(include('/_esi/menu'), { 'Cache-Control': 'public, s-maxage=6000' }))
    shop.page('/_esi/menu', lasting('menu', { 'Cache-Control': 'public, s-maxage=60, stale-while-revalidate=600' }))
    await shop.visit('/')
    shop.wait(70)
    const status = (await shop.visit('/')).field('cache-status')
    expect(status).toBe('pagecache; hit; ttl=-10; detail="stale fragment"')
    expect(resultOf(status)).toBe('stale')
    await until(async () => expect(resultOf((await shop.visit('/')).field('cache-status'))).toBe('hit'))
  })
})

describe('a page', () => {
  it('that may not be stored is assembled for its visitor', async () => {
    let serial = 0
    shop.page('/mine', () => ({
      fields: {
        ...markup,
        'Content-Type': 'text/html',
        'Cache-Control': 'private',
        'Set-Cookie': `visit=${(serial += 1)}`,
      },
      body: `${include('/_esi/good')} ${serial}`,
    }))
    for (const expected of ['1', '2', '3']) {
      const answer = await shop.visit('/mine', { fields: { 'Accept-Encoding': 'gzip' } })
      expect(answer).toMatchObject({ status: 200, text: `good ${expected}` })
      expect(answer.field('set-cookie')).toBe(`visit=${expected}`)
      expect(answer.field('cache-control')).toBe('private, no-store')
      expect(answer.field('cache-status')).toContain('Cache-Control: private')
    }
    expect(shop.asked('/_esi/good')).toBe(1)
  })

  it('with an error status is assembled too', async () => {
    shop.page('/gone', { ...template(`${include('/_esi/good')}: gone`), status: 410 })
    for (let visit = 0; visit < 2; visit++)
      expect(await shop.visit('/gone')).toMatchObject({ status: 410, text: 'good: gone' })
    expect(shop.asked('/gone')).toBe(1)
  })

  it.each([
    ['has no Surrogate-Control', {}],
    ['has one without ESI', { 'Surrogate-Control': 'max-age=60' }],
    ['names another version', { 'Surrogate-Control': 'content="ESI/2.0"' }],
  ])('that %s is not parsed', async (_, fields) => {
    const body = `a${include('/_esi/good')}b`
    shop.page('/', lasting(body, fields))
    for (let visit = 0; visit < 2; visit++) {
      const answer = await shop.visit('/')
      expect(answer.text).toBe(body)
      expect(answer.field('surrogate-control')).toBeNull()
    }
    expect(shop.asked('/_esi/good')).toBe(0)
  })

  it('that bypasses the cache is rendered by the shop', async () => {
    shop.page('/account', { fields: { 'Cache-Control': 'private' }, body: 'account' })
    await shop.visit('/account', { fields: { 'Surrogate-Capability': 'evil="ESI/1.0"' } })
    expect(shop.origin.requests[0]!.fields.has('surrogate-capability')).toBe(false)
  })

  it('of which a range is requested first is whole', async () => {
    const whole = `${include('/_esi/good')} and more`
    shop.page('/', ({ fields }) =>
      fields.has('surrogate-capability') && fields.has('range')
        ? {
            status: 206,
            fields: { ...markup, 'Cache-Control': 's-maxage=60', 'Content-Range': `bytes 0-4/${whole.length}` },
            body: whole.slice(0, 5),
          }
        : fields.has('range')
          ? { status: 206, fields: { 'Cache-Control': 's-maxage=60', 'Content-Range': 'bytes 0-4/13' }, body: 'good ' }
          : template(whole),
    )
    expect(await shop.visit('/', { fields: { Range: 'bytes=0-4' } })).toMatchObject({ status: 206, text: 'good ' })
    expect(await shop.visit('/')).toMatchObject({ status: 200, text: 'good and more' })
    expect(await shop.visit('/', { fields: { Range: 'bytes=5-7' } })).toMatchObject({ status: 206, text: 'and' })
  })

  it('that is too large to be assembled is requested without markup', async () => {
    const text = 'x'.repeat(2 << 20)
    shop.page('/', ({ fields }) =>
      fields.has('surrogate-capability') ? template(`${include('/_esi/good')}${text}`) : lasting(`whole ${text}`),
    )
    expect((await shop.visit('/')).text).toBe(`whole ${text}`)
  })

  it('of thousands of includes has 32 of them', async () => {
    const many = Array.from({ length: 5000 }, (_, number) => include(`/_esi/${number}`)).join('.')
    for (let number = 0; number < 100; number++) shop.page(`/_esi/${number}`, lasting(`${number}`))
    shop.page('/', template(many))
    const answer = await shop.visit('/')
    expect(answer.text.split('.').filter((text) => text !== '')).toEqual(
      Array.from({ length: 32 }, (_, number) => `${number}`),
    )
    expect(answer.field('cache-status')).toContain('4968 includes removed: more than 32 in the page')
    expect(shop.origin.requests).toHaveLength(33)
  })

  it('has 32 fragments at any depth', async () => {
    const includes = (name: string) =>
      Array.from({ length: 20 }, (_, number) => include(`/_esi/${name}${number}`)).join('')
    shop.page('/', template(includes('a')))
    for (let outer = 0; outer < 20; outer++) {
      shop.page(`/_esi/a${outer}`, template(`(${includes(`${outer}-`)})`))
      for (let inner = 0; inner < 20; inner++) shop.page(`/_esi/${outer}-${inner}`, lasting('.'))
    }
    const answer = await shop.visit('/')
    expect(answer.text.length).toBeLessThan(100)
    expect(answer.field('cache-status')).toContain('removed: ')
    expect(shop.origin.requests.length).toBeLessThan(300)
    // A fragment alone has all of its own.
    expect((await shop.visit('/_esi/a0')).text).toBe(`(${'.'.repeat(20)})`)
  })

  it('does not grow beyond the largest page', async () => {
    shop.page('/_esi/big', lasting('x'.repeat(300_000)))
    shop.page('/', template(`a${include('/_esi/big').repeat(20)}b`))
    const answer = await shop.visit('/')
    expect(answer.body.length).toBe(900_002)
    expect(answer.field('cache-status')).toContain('the page is too large')
  })

  it.each([
    ['two pages', ['/_esi/a', '/_esi/b']],
    ['three pages', ['/_esi/a', '/_esi/b', '/_esi/c']],
  ])('of a loop of %s has each of them once', async (_, loop) => {
    for (const [index, path] of loop.entries())
      shop.page(path, template(`${path.at(-1)}${include(loop[(index + 1) % loop.length]!)}`))
    const letters = loop.map((path) => path.at(-1)).join('')
    for (let round = 0; round < 2; round++) {
      for (const [index, path] of loop.entries())
        expect((await shop.visit(path)).text).toBe(letters.slice(index) + letters.slice(0, index))
    }
    expect(shop.origin.requests).toHaveLength(loop.length)
  })
})

it('visitors who wait too long for a fragment while others need the memory are told to come back', async () => {
  const answers: ((reply: Reply) => void)[] = []
  shop.page('/_esi/slow', () => new Promise<Reply>((resolve) => answers.push(resolve)))
  shop.page('/', template(include('/_esi/slow')))
  const waiting = shop.visit('/')
  await until(() => expect(answers).toHaveLength(1))
  // Another page needs all of it.
  const whole = inFlight.assemblies.lease(Infinity)
  const refused = await waiting
  expect(refused.status).toBe(503)
  expect(refused.field('retry-after')).not.toBeNull()
  const lease = await whole
  lease.release()
  for (const answer of answers) answer(lasting('late'))
  expect((await shop.visit('/')).text).toBe('late')
  expect(inFlight.assemblies.used).toBe(0)
})
