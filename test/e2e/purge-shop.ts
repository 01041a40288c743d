import { until } from '../helpers/until.ts'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { speak } from '../http/front/wire.ts'
import { openShop, type Shop, tagged } from '../http/api/shop.ts'

export let shop: Shop

/** Starts a daemon for all tests of the file that calls it. Each test finds it without pages. */
export function useShop(): void {
  beforeAll(async () => {
    shop = await openShop()
    shop.origin.otherwise((request) => tagged(`all ${request.path.slice(1)}`))
  })

  afterAll(() => shop.close())

  beforeEach(async () => {
    await speak(shop.port, `BAN / HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n`)
    shop.origin.forget()
  })
}

/** Caches pages. */
export async function fill(...paths: string[]): Promise<void> {
  for (const path of paths) await shop.ask(path)
  shop.origin.forget()
  for (const path of paths) await shop.ask(path)
  expect(shop.origin.requests).toEqual([])
  // A page that still waits to be stored is dropped by any BAN: only stored pages are matched.
  await until(async () => String((await shop.ask('/metrics')).body).includes('pagecache_pages_waiting_bytes 0'))
}

/** The pages that are requested from the shop again. */
export async function gone(...paths: string[]): Promise<string[]> {
  shop.origin.forget()
  for (const path of paths) await shop.ask(path)
  return shop.origin.requests.map((request) => request.path)
}
