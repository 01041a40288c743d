import { describe, expect, it, onTestFinished } from 'vitest'
import { Browser, shopwareShop, type Version } from './shopware-shop.ts'
import { shopwareSettings } from './shopware-preset.ts'
import { isHit, openSite } from './site.ts'

async function open(version: Version) {
  const site = await openSite({ ...shopwareSettings(), invalidateOnUnsafe: 'off' })
  onTestFinished(() => site.close())
  site.answers(shopwareShop(version))
  return { site, browser: (cookies?: Record<string, string>) => new Browser(site, cookies) }
}

const guests = 'Prices for guests in eur'
const info = '/widgets/checkout/info'

describe.each<Version>(['6.6', '6.7', '6.8'])('visitors of Shopware %s', (version) => {
  it('see the prices of their context from guest to basket, login and logout', async () => {
    const { browser } = await open(version)
    const [guest, buyer] = [browser(), browser()]
    for (const visitor of [guest, buyer, guest, buyer]) expect((await visitor.get('/p')).text).toBe(guests)
    expect((await buyer.get(info)).status).toBe(204)

    await buyer.post('/checkout/add')
    expect((await buyer.get(info)).text).toBe('1 items')
    for (let visits = 0; visits < 3; visits += 1) {
      expect((await buyer.get('/p')).text).toBe(`${guests}, with a basket`)
      expect((await guest.get('/p')).text).toBe(guests)
    }

    await buyer.post('/account/login?as=ann@dealers')
    for (let visits = 0; visits < 3; visits += 1) {
      expect((await buyer.get('/p')).text).toBe('Prices for dealers in eur, with a basket')
      expect((await guest.get('/p')).text).toBe(guests)
    }

    await buyer.post('/account/logout')
    expect((await buyer.get('/p')).text).toBe(guests)
    expect((await buyer.get(info)).status).toBe(204)
  })

  it('share the page of their customer group', async () => {
    const { site, browser } = await open(version)
    const [ann, bob] = [browser(), browser()]
    await ann.post('/account/login?as=ann@dealers')
    await bob.post('/account/login?as=bob@dealers')
    await ann.get('/p')
    expect((await ann.get('/p')).text).toBe('Prices for dealers in eur')
    const requests = site.origin.requests.length
    const answer = await bob.get('/p')
    expect(answer.text).toBe('Prices for dealers in eur')
    expect(isHit(answer)).toBe(true)
    expect(site.origin.requests).toHaveLength(requests)
  })

  it('get the prices of their currency', async () => {
    const { browser } = await open(version)
    const [guest, traveller] = [browser(), browser()]
    await traveller.post('/checkout/configure?currency=usd')
    for (let visits = 0; visits < 3; visits += 1) {
      expect((await traveller.get('/p')).text).toBe('Prices for guests in usd')
      expect((await guest.get('/p')).text).toBe(guests)
    }
    await traveller.post('/account/login?as=ann@dealers')
    for (let visits = 0; visits < 3; visits += 1)
      expect((await traveller.get('/p')).text).toBe('Prices for dealers in usd')
  })

  it('never get a page that a forged hash or a missing one has filled', async () => {
    const { site, browser } = await open(version)
    const ann = browser()
    await ann.post('/account/login?as=ann@dealers')
    const hash = ann.cookies.get('sw-cache-hash')!
    const session = ann.cookies.get('session-')!
    const forgers = [
      browser({ 'sw-cache-hash': hash }),
      browser({ 'sw-cache-hash': hash, 'sw-currency': 'usd' }),
      browser({ 'session-': session }),
      browser({ 'session-': session, 'sw-currency': 'usd' }),
      browser({ 'sw-currency': 'usd' }),
    ]
    for (const forger of forgers) for (const target of ['/p', '/special', '/p']) await forger.get(target)
    for (const target of ['/p', '/special', '/media/a']) {
      for (let visits = 0; visits < 2; visits += 1) {
        expect((await ann.get(target)).text).toBe(target === '/media/a' ? guests : 'Prices for dealers in eur')
        expect((await browser().get(target)).text).toBe(guests)
      }
    }
    expect(site.faults).toEqual([])
  })
})
