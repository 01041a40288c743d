import { describe, expect, it } from 'vitest'
import type { ShopwareVersion } from '../../src/demo/shopware.ts'
import { openStorefront, priceIn, product, statesIn } from './demo-storefront.ts'
import { isHit } from './site.ts'

const info = '/widgets/checkout/info'

async function open(version: ShopwareVersion, states?: readonly string[]) {
  const opened = await openStorefront(version, states)
  const guest = opened.browser()
  const page = await guest.get(product)
  const euro = priceIn(page)!
  const productId = /data-product="(\w+)"/.exec(page.text)![1]!
  const cents = Number(euro.slice(1).replace('.', ''))
  const price = (symbol: string, factor: number) => `${symbol}${(Math.round(cents * factor) / 100).toFixed(2)}`
  return {
    ...opened,
    guest,
    productId,
    prices: {
      guests: euro,
      dealers: price('€', 0.9),
      dollars: price('$', 1.1),
      dealersInDollars: price('$', 0.9 * 1.1),
    },
  }
}

describe.each<ShopwareVersion>(['6.6', '6.7', '6.8'])('visitors of Shopware %s', (version) => {
  it('see the prices of their context from guest to basket, login and logout', async () => {
    const { browser, guest, productId, prices } = await open(version)
    const buyer = browser()
    for (const visitor of [guest, buyer, guest, buyer]) expect(priceIn(await visitor.get(product))).toBe(prices.guests)
    expect((await buyer.get(info)).status).toBe(204)
    expect(buyer.cookies.has('sw-cache-hash')).toBe(false)

    await buyer.post('/checkout/line-item/add', { productId })
    expect((await buyer.get(info)).text).toContain('>1<')
    const filled = buyer.cookies.get('sw-cache-hash')
    expect([filled?.length, statesIn(buyer)]).toEqual([32, version === '6.8' ? null : 'cart-filled'])
    for (let visits = 0; visits < 3; visits += 1)
      for (const visitor of [buyer, guest]) expect(priceIn(await visitor.get(product))).toBe(prices.guests)

    await buyer.login('ann@dealers.example')
    expect(buyer.cookies.get('sw-cache-hash')).not.toBe(filled)
    for (let visits = 0; visits < 3; visits += 1) {
      const page = await buyer.get(product)
      expect([priceIn(page), page.text.includes('Prices for dealers')]).toEqual([prices.dealers, true])
      expect(priceIn(await guest.get(product))).toBe(prices.guests)
    }
    expect((await buyer.get('/account')).text).toContain('Hello Ann')

    await buyer.get('/account/logout')
    expect(['sw-cache-hash', 'sw-states'].filter((name) => buyer.cookies.has(name))).toEqual([])
    expect(priceIn(await buyer.get(product))).toBe(prices.guests)
    expect((await buyer.get(info)).status).toBe(204)
  })

  it('share the page of their customer group, unless the shop excludes their state', async () => {
    const { site, browser, prices } = await open(version, [])
    const [ann, bob] = [browser(), browser()]
    await ann.login('ann@dealers.example')
    await bob.login('bob@dealers.example')
    await ann.get(product)
    expect(priceIn(await ann.get(product))).toBe(prices.dealers)
    const requests = site.origin.requests.length
    const answer = await bob.get(product)
    expect([priceIn(answer), isHit(answer)]).toEqual([prices.dealers, true])
    expect(site.origin.requests).toHaveLength(requests)

    const usual = await open(version)
    const eve = usual.browser()
    await eve.login('eve@dealers.example')
    for (let visits = 0; visits < 3; visits += 1) await eve.get(product)
    expect(isHit(await eve.get(product))).toBe(version === '6.8')
  })

  it('get the prices of their currency', async () => {
    const { browser, guest, prices } = await open(version)
    const traveller = browser()
    await traveller.post('/checkout/configure', { currencyId: 'USD' })
    expect(traveller.cookies.get('sw-currency') ?? null).toBe(version === '6.8' ? null : 'USD')
    for (let visits = 0; visits < 3; visits += 1) {
      expect(priceIn(await traveller.get(product))).toBe(prices.dollars)
      expect(priceIn(await guest.get(product))).toBe(prices.guests)
    }
    await traveller.login('ann@dealers.example')
    for (let visits = 0; visits < 3; visits += 1)
      expect(priceIn(await traveller.get(product))).toBe(prices.dealersInDollars)
  })

  it('never get a page that a forged hash or a missing one has filled', async () => {
    const { site, browser, prices } = await open(version, [])
    const ann = browser()
    await ann.login('ann@dealers.example')
    const hash = ann.cookies.get('sw-cache-hash')!
    const session = ann.cookies.get('session-')!
    await site.store.remove({ kind: 'all' })
    const forgers = [
      browser({ 'sw-cache-hash': hash }),
      browser({ 'sw-cache-hash': hash, 'sw-currency': 'USD' }),
      browser({ 'session-': session }),
      browser({ 'session-': session, 'sw-currency': 'USD' }),
      browser({ 'sw-currency': 'USD' }),
    ]
    for (const forger of forgers) for (const target of [product, '/', product]) await forger.get(target)
    for (let visits = 0; visits < 2; visits += 1) {
      expect(priceIn(await ann.get(product))).toBe(prices.dealers)
      expect(priceIn(await browser().get(product))).toBe(prices.guests)
    }
    expect(site.faults).toEqual([])
  })
})

describe('header and footer', () => {
  it.each<[ShopwareVersion, number]>([
    ['6.6', 0],
    ['6.7', 2],
    ['6.8', 2],
  ])('are fragments from 6.7 on, rendered once for all pages of a context: %s', async (version, count) => {
    const { shop, guest } = await open(version)
    for (const target of ['/', '/about-us', product]) {
      const { text } = await guest.get(target)
      expect(text).toContain('<nav class="main">')
      expect(text).not.toContain('<esi:')
    }
    const fragments = [...shop.rendered].filter(([path]) => path.startsWith('/_esi/'))
    expect(fragments).toEqual(['/_esi/global/header', '/_esi/global/footer'].slice(0, count).map((path) => [path, 1]))
  })
})
