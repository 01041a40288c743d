import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fragmentUrls } from '../../../src/cache/esi/fragment-urls.ts'
import { inFlight } from '../../../src/cache/in-flight.ts'
import { until } from '../../helpers/until.ts'
import type { Reply } from '../scripted-origin.ts'
import { shopUrl } from '../site.ts'
import { include, lasting, lookupOf, openEsiShop, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openEsiShop()
  onTestFinished(() => shop.close())
})

/** A page of `width` fragments, each of `width` others, three deep. */
function widePage(width: number): void {
  const includes = (name: string) =>
    Array.from({ length: width }, (_, number) => include(`/_esi/${name}-${number}`)).join('')
  const add = (name: string, depth: number) => {
    for (let number = 0; number < width; number++) {
      const own = `${name}-${number}`
      shop.page(`/_esi/${own}`, depth === 3 ? lasting('.') : template(`(${includes(own)})`))
      if (depth < 3) add(own, depth + 1)
    }
  }
  shop.page('/', template(includes('a')))
  add('a', 1)
}

describe('a page with fragments at any depth', () => {
  it.each([4, 8, 20])('requests at most 32 of them, of %i in each', async (width) => {
    widePage(width)
    const answer = await shop.visit('/')
    expect(answer.status).toBe(200)
    expect(answer.field('cache-status')).toContain('more than 32 in the page')
    expect(shop.origin.requests).toHaveLength(33)
    // Fragments that were cut short are not kept as pages of their own.
    const { text } = await shop.visit('/_esi/a-0')
    expect(text.match(/\./g)?.length ?? 0).toBeLessThanOrEqual(32)
    expect(text.length).toBeGreaterThan(2)
  })

  it('requests no more of them because many visitors wait for it', async () => {
    widePage(8)
    await Promise.all(Array.from({ length: 20 }, () => shop.visit('/')))
    const counts = shop.origin.requests.map(({ target }) => shop.asked(target))
    expect(Math.max(...counts)).toBe(1)
    expect(shop.origin.requests.length).toBeLessThanOrEqual(73)
  })

  it('is warmed with at most 32 of them', async () => {
    widePage(8)
    const { signal } = new AbortController()
    await shop.cache.warm(lookupOf(shop, '/'), signal)
    expect(shop.origin.requests).toHaveLength(33)
    const lookup = lookupOf(shop, '/')
    expect(shop.cache.lacksFragments(lookup, shop.cache.find(lookup)!)).toBe(false)
  })

  it('is listed with a bounded number of them', async () => {
    widePage(20)
    const { signal } = new AbortController()
    for (let number = 0; number < 20; number++) await shop.cache.warm(lookupOf(shop, `/_esi/a-${number}`), signal)
    await shop.cache.warm(lookupOf(shop, '/'), signal)
    expect(fragmentUrls(shop.store, `${shopUrl}/`).length).toBeLessThanOrEqual(256)
  })
})

describe('memory of a page that is assembled', () => {
  it('counts the fragments that have arrived, until the page is made', async () => {
    let answer: ((reply: Reply) => void) | null = null
    shop.page('/_esi/slow', () => new Promise<Reply>((resolve) => (answer = resolve)))
    shop.page('/_esi/big', lasting('x'.repeat(200_000)))
    shop.page('/_esi/outer', template(`${include('/_esi/big')}${include('/_esi/slow')}`))
    shop.page('/', template(include('/_esi/outer')))
    const visit = shop.visit('/')
    await until(() => expect(answer).not.toBeNull())
    await until(() => expect(inFlight.assemblies.used).toBeGreaterThan(200_000))
    answer!(lasting('slow'))
    expect((await visit).text).toHaveLength(200_004)
    expect(inFlight.assemblies.used).toBe(0)
  })

  it('is not taken by fragments that do not fit into the page', async () => {
    for (let number = 0; number < 20; number++) shop.page(`/_esi/big${number}`, lasting('x'.repeat(300_000 + number)))
    const includes = Array.from({ length: 20 }, (_, number) => include(`/_esi/big${number}`)).join('')
    shop.page('/', template(`a${includes}b`))
    let most = 0
    const watching = setInterval(() => (most = Math.max(most, inFlight.assemblies.used)), 1)
    onTestFinished(() => clearInterval(watching))
    const answer = await shop.visit('/')
    expect(answer.body.length).toBeGreaterThan(900_000)
    expect(answer.body.length).toBeLessThan(1 << 20)
    expect(answer.field('cache-status')).toContain('the page is too large')
    expect(most).toBeLessThan(5 << 20)
  })
})
