import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { installed } from '../helpers/rivals.ts'
import { startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'

const fields: Record<string, Record<string, string>> = {
  '/vary-all': { 'cache-control': 'public, s-maxage=600', vary: '*' },
  '/vary-list': { 'cache-control': 'public, s-maxage=600', vary: 'Accept-Encoding, *' },
  '/strict': { 'cache-control': 'public, max-age=1, must-revalidate' },
  '/strict-proxy': { 'cache-control': 'public, max-age=1, proxy-revalidate' },
}

describe.skipIf(!installed('varnishd'))('docs/varnish.vcl', () => {
  let origin: Origin
  let varnish: Varnish
  let fetches = 0
  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: ({ path }) => ({
        headers: { 'content-type': 'text/html', ...fields[path] },
        body: `fetch ${++fetches}`,
      }),
    })
    varnish = await startVarnishProxy(origin.host)
  })
  afterAll(async () => {
    await varnish.stop()
    await origin.stop()
  })

  const get = (path: string) => exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example' } })
  const read = async (path: string) => (await get(path)).body.toString()

  it.each(['/vary-all', '/vary-list'])('shares no page that varies by everything: %s', async (path) => {
    const bodies = [await read(path), await read(path), await read(path)]
    expect(new Set(bodies).size).toBe(3)
  })

  it.each(['/strict', '/strict-proxy'])('serves no expired page that must be revalidated: %s', async (path) => {
    const first = await read(path)
    const ages: number[] = []
    const next = async () => {
      const { headers, body } = await get(path)
      ages.push(Number(headers.get('age') ?? 0))
      return body.toString()
    }
    // Between two requests the page becomes older than its lifetime of one second.
    await until(async () => expect(await next()).not.toBe(first))
    expect(Math.max(...ages)).toBeLessThan(2)
  })
})
