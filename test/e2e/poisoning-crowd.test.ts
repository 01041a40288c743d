import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decoded, exchange, type Answer } from '../helpers/exchange.ts'
import { speak } from '../http/front/wire.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

describe('100 visitors waiting for one page', () => {
  async function wait(
    path: string,
    headers: (index: number) => Record<string, string> = () => ({}),
  ): Promise<Answer[]> {
    return await Promise.all(
      Array.from({ length: 100 }, (_, index) => exchange(shop.daemon.url + path, { headers: headers(index) })),
    )
  }
  /** Delays the first answer until the daemon has answered other requests, so that all visitors have arrived. */
  const slowly = async () => {
    for (let count = 0; count < 20; count++) await exchange(`${shop.daemon.url}/healthz`)
  }

  it('cost one request if the page may be shared', async () => {
    shop.origin.on('/crowd', async () => (await slowly(), page('for all')))
    const answers = await wait('/crowd')
    expect(new Set(answers.map((answer) => String(decoded(answer)))).size).toBe(1)
    expect(shop.origin.hits('/crowd')).toBe(1)
  })

  it('never get the private page of another visitor', async () => {
    let number = 0
    shop.origin.on(
      '/crowd-private',
      async () => (await slowly(), { headers: { 'cache-control': 'private' }, body: `of ${++number}` }),
    )
    const answers = await wait('/crowd-private')
    expect(new Set(answers.map((answer) => String(decoded(answer)))).size).toBe(100)
  })

  it('never get the cookie of another visitor', async () => {
    let number = 0
    shop.origin.on(
      '/crowd-cookie',
      async () => (
        await slowly(),
        { headers: { 'cache-control': 'public, max-age=60', 'set-cookie': `session=${++number}` }, body: 'for all' }
      ),
    )
    const cookies = (await wait('/crowd-cookie'))
      .map((answer) => answer.headers.get('set-cookie'))
      .filter((cookie) => cookie !== null)
    expect(new Set(cookies).size).toBe(cookies.length)
  })

  it('are not stuck with the error of one request', async () => {
    let failing = true
    shop.origin.raw(
      '/crowd-failing',
      (socket) =>
        void (failing
          ? socket.destroy()
          : socket.end(
              'HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 6\r\nConnection: close\r\n\r\nmended',
            )),
    )
    expect(new Set((await wait('/crowd-failing')).map((answer) => answer.status))).toEqual(new Set([502]))
    failing = false
    await until(async () => (await shop.ask('/crowd-failing')).status === 200)
  })

  it('get their own variants', async () => {
    shop.origin.on(
      '/crowd-variants',
      async (request) => (await slowly(), page(`in ${/sw-currency=(\w+)/.exec(request.headers['cookie'] ?? '')?.[1]}`)),
    )
    const answers = await wait('/crowd-variants', (index) => ({
      Cookie: `sw-currency=${index % 2 === 0 ? 'EUR' : 'USD'}`,
    }))
    for (const [index, answer] of answers.entries())
      expect(String(decoded(answer))).toContain(index % 2 === 0 ? 'in EUR' : 'in USD')
  })
})

it('ten thousand languages create no more variants than the limit', async () => {
  shop.origin.on('/languages', (request) =>
    page(`in ${request.headers['accept-language']}`, { vary: 'Accept-Language' }),
  )
  const regions = ['AT', 'AU', 'BE', 'CA', 'CH', 'DE', 'FR', 'GB', 'NL', 'US']
  const languages = Array.from(
    { length: 10_000 },
    (_, index) =>
      `de-${regions[index % 10]},en-${regions[Math.floor(index / 10) % 10]};q=0.${100 + Math.floor(index / 100)}`,
  )
  for (let at = 0; at < languages.length; at += 250) {
    const requests = languages
      .slice(at, at + 250)
      .map(
        (language, index) =>
          `GET /languages HTTP/1.1\r\nHost: ${shop.host}\r\nAccept-Language: ${language}\r\n${index === 249 ? 'Connection: close\r\n' : ''}\r\n`,
      )
    await speak(shop.port, requests.join(''))
  }
  const { stdout } = await shop.daemon.run('cache:list', '--json', '--limit', '1000')
  const listed = (JSON.parse(stdout) as { items: { url: string }[] }).items.filter(({ url }) =>
    url.endsWith('/languages'),
  )
  expect(listed.length).toBeGreaterThan(0)
  expect(listed.length).toBeLessThanOrEqual(64)
})
