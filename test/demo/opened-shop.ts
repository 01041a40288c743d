import { afterAll, beforeAll } from 'vitest'
import { startShop, type DemoShop } from '../../src/demo/shop.ts'

/** Starts one demo shop for the tests of a file. */
export function openDemoShop() {
  let shop: DemoShop
  beforeAll(async () => {
    shop = await startShop({ latency: 'off' })
  })
  afterAll(() => shop.close())

  return {
    shop: () => shop,
    ask: (path: string, init: RequestInit = {}) => fetch(`${shop.url}${path}`, { redirect: 'manual', ...init }),
    /** The first page of a type. */
    pathOf(type: string, channel = 0): string {
      const found = shop.channels[channel]
      return `${found?.prefix}${found?.pages.find((page) => page.type === type)?.path}`
    },
  }
}

/** The cookies that a response sets, as a browser would send them back. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
