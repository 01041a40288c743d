import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startShop } from '../../src/demo/shop.ts'
import { cookiesOf, openDemoShop } from './opened-shop.ts'

const { shop, ask, pathOf } = openDemoShop()

async function login(email: string): Promise<string> {
  return cookiesOf(
    await ask('/account/login', { method: 'POST', body: new URLSearchParams({ username: email, password: 'demo' }) }),
  )
}

async function fillBasket(cookie = ''): Promise<Response> {
  const page = await (await ask(pathOf('products'))).text()
  const productId = /name="productId" value="(\w+)"/.exec(page)?.[1] ?? ''
  return ask('/checkout/line-item/add', {
    method: 'POST',
    headers: { cookie },
    body: new URLSearchParams({ productId, quantity: '2' }),
  })
}

describe('visitors', () => {
  it('get the prices of their group, and no page with their name but the account', async () => {
    const ada = await login('ada@dealers.example')
    expect(ada).toContain('sw-states=logged-in')
    expect(ada).toContain('sw-cache-hash=')
    const page = await ask('/', { headers: { cookie: ada } })
    const text = await page.text()
    expect([text.includes('Prices for dealers'), text.includes('Ada')]).toEqual([true, false])
    expect(await (await ask('/', { headers: { cookie: await login('bob@dealers.example') } })).text()).toBe(text)
    expect(await (await ask('/account', { headers: { cookie: ada } })).text()).toContain('Hello Ada')
    expect(await (await ask('/')).text()).not.toContain('dealers')
  })

  it('are rejected with a wrong password, redirected to the login, and logged out', async () => {
    const wrong = await ask('/account/login', {
      method: 'POST',
      body: new URLSearchParams({ username: 'a@b', password: 'x' }),
    })
    expect([wrong.status, cookiesOf(wrong)]).toEqual([422, expect.stringMatching(/^session-=\w+$/)])
    expect((await ask('/de/account')).headers.get('location')).toBe('/de/account/login')
    const cookie = await login('ada@example.com')
    await ask('/account/logout', { headers: { cookie } })
    expect((await ask('/account', { headers: { cookie } })).status).toBe(303)
  })

  it('have an uncacheable basket', async () => {
    const added = await fillBasket()
    const cookie = cookiesOf(added)
    expect([added.status, added.headers.get('location')]).toEqual([303, '/checkout/cart'])
    expect(cookie).toContain('sw-states=cart-filled')
    const basket = await ask('/checkout/cart', { headers: { cookie } })
    expect(basket.headers.get('cache-control')).toBe('private, no-store')
    expect(await basket.text()).toContain('<td>2</td>')
    expect(await (await ask('/widgets/checkout/info', { headers: { cookie } })).text()).toContain('>2<')
    expect((await ask('/widgets/checkout/info')).status).toBe(204)
    const next = await ask('/', { headers: { cookie } })
    expect(cookiesOf(next)).toMatch(/^sw-cache-hash=[0-9a-f]{32}$/)
  })

  it('get a new session id with the old basket at login, and lose both when idle', async () => {
    let now = 0
    const aging = await startShop({ latency: 'off', clock: () => now })
    try {
      const add = await fetch(`${aging.url}/checkout/line-item/add`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({
          productId: aging.channels[0]?.pages.find((page) => page.type === 'products')?.tags[0]?.slice(8) ?? '',
        }),
      })
      const form = new URLSearchParams({ username: 'ada@example.com', password: 'demo' })
      const logged = await fetch(`${aging.url}/account/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: cookiesOf(add) },
        body: form,
      })
      const cookie = cookiesOf(logged)
      expect(cookie).toContain('sw-states=logged-in%2Ccart-filled')
      expect(cookie.split(';')[0]).not.toBe(cookiesOf(add).split(';')[0])
      const oldBasket = await fetch(`${aging.url}/widgets/checkout/info`, { headers: { cookie: cookiesOf(add) } })
      expect(oldBasket.status).toBe(204)
      now = 31 * 60_000
      expect((await fetch(`${aging.url}/widgets/checkout/info`, { headers: { cookie } })).status).toBe(204)
    } finally {
      await aging.close()
    }
  })
})

describe('admin API', () => {
  const token = 'secret'
  const change = (url: string, method: string, path: string, value?: object, given = token) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${given}` },
      ...(value && { body: JSON.stringify(value) }),
    }).then((response) => response.status)

  it('changes prices and the menu, and purges what it has gathered', async () => {
    const purges: string[] = []
    const proxy = createServer((request, response) => {
      purges.push(`${request.method} ${request.headers['xkey'] as string}`)
      response.end()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const changing = await startShop({ latency: 'off', adminToken: token, reverseProxies: [proxyUrl] })
    try {
      const { url } = changing
      const path = pathOf('products')
      const read = async () => (await fetch(url + path)).text()
      const before = await read()
      const product = /data-product="(\w+)"/.exec(before)![1]!
      const category = /data-category="(\w+)"/.exec(before)![1]!
      expect(await change(url, 'PATCH', `/api/product/${product}`, { price: 4_200 })).toBe(204)
      expect(await change(url, 'PATCH', `/api/category/${category}`, { name: 'Bargains' })).toBe(204)
      const after = await read()
      expect([after.includes('>€42.00<'), after.includes('>Bargains<')]).toEqual([true, true])
      expect(purges).toEqual([])
      expect(await change(url, 'DELETE', '/api/_action/cache-delayed')).toBe(204)
      expect(purges).toEqual([
        expect.stringMatching(
          new RegExp(
            `^PURGE product-${product} product-listing-\\w{32} product-listing-\\w{32} category-route-${category} navigation$`,
          ),
        ),
      ])
      for (const [wrong, status] of [
        [change(url, 'PATCH', `/api/product/${product}`, { price: 'x' }), 400],
        [change(url, 'PATCH', `/api/product/${category}`, { price: 1 }), 400],
        [change(url, 'POST', `/api/product/${product}`, {}), 404],
        [change(url, 'DELETE', '/api/_action/cache-delayed', undefined, 'other'), 401],
        [change(shop().url, 'DELETE', '/api/_action/cache-delayed'), 401],
        [change(shop().url, 'DELETE', '/api/_action/cache-delayed', undefined, 'null'), 401],
      ] as const)
        expect(await wrong).toBe(status)
    } finally {
      await changing.close()
      proxy.close()
    }
  })
})
