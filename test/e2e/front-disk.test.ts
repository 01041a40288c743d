import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { random } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'

/** Many times what fits into the daemon's memory. */
const pages = Array.from({ length: 500 }, (_, number) => `/disk/${number}`)
const textOf = (path: string) => `${path} `.repeat(700)

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ config: { cache: { memory: '256KB', compression: false } } })
  shop.origin.otherwise(({ path }) => page(textOf(path), { 'cache-control': 'public, max-age=3600' }))
  for (const path of pages) await shop.ask(path)
  await until(async () => (await shop.pages()) === pages.length)
  shop.origin.forget()
})
afterAll(() => shop.close())

it('many visitors at once get their own pages from the disk', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 48 })
  onTestFinished(() => agent.destroy())
  const next = random(20_261_128)
  const read = async (path: string) => {
    const sent = get(shop.daemon.url + path, { agent })
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const body = Buffer.concat(await answer.toArray()).toString()
    expect({ hit: /; *hit/.test(String(answer.headers['cache-status'])), body }).toEqual({
      hit: true,
      body: page(textOf(path)).body,
    })
  }
  await Promise.all(Array.from({ length: 3_000 }, () => read(pages[Math.floor(next() * pages.length)]!)))
  expect(shop.origin.requests).toEqual([])
})
