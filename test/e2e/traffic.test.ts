import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Traffic } from '../../src/operations/traffic.ts'
import { bearer, createClient, fetchToken, jsonOf, prefix } from '../helpers/api-client.ts'
import { page, openShop, tagged, type Shop } from '../http/api/shop.ts'
import { startOrigin } from '../helpers/origin.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

let shop: Shop
let token: string

beforeAll(async () => {
  shop = await openShop({ config: { server: { processes: 2 } } })
  token = await fetchToken(shop.daemon.url, await createClient(shop.daemon, 'reader', 'read'))
})
afterAll(() => shop?.close())

async function traffic(query = ''): Promise<Traffic> {
  const answer = await shop.ask(`${prefix}/traffic${query}`, { headers: bearer(token) })
  expect(answer.status, String(answer.body)).toBe(200)
  return jsonOf(answer) as Traffic
}

it('counts what visitors of all processes got, by result, type and status, and no query', async () => {
  shop.origin.on('/product', tagged('product-1'))
  // A cache between the daemon and the shop says what it did, too.
  const headers = { 'cache-control': 'private', 'cache-status': '"CDN"; hit' }
  shop.origin.on('/private', { ...page('private'), headers })
  shop.origin.on('/broken', { status: 500, body: 'broken' })
  shop.origin.raw('/dead', (socket) => void socket.destroy())
  let sent = 0
  const visit = async (path: string, how?: Parameters<Shop['ask']>[1]) => {
    const { body } = await shop.ask(path, how)
    sent += body.length
  }
  await visit('/product')
  // The other process finds the page only once it is stored.
  await until(async () => (await shop.pages()) === 1)
  // Each on a connection of its own: both processes answer some.
  for (let count = 0; count < 7; count += 1) await visit('/product')
  await visit('/private?secret=1')
  await visit('/checkout/cart')
  await visit('/checkout/cart', { method: 'POST', body: 'a=b' })
  await visit('/broken')
  await visit('/dead')
  await visit('/healthz')
  const healthz = (await shop.ask('/healthz')).body.length
  await until(async () => (await traffic()).totals.requests === 13)
  const { totals, byType, byChannel, topMisses } = await traffic()
  expect(totals).toMatchObject({ requests: 13, hits: 7, misses: 3, passes: 2, errors: 1, hitRatio: 0.7 })
  expect(totals.bytes).toBe(sent - healthz)
  expect(totals.statuses).toEqual({ '1xx': 0, '2xx': 11, '3xx': 0, '4xx': 0, '5xx': 2 })
  expect(totals.originTime).toBeGreaterThan(0)
  expect(totals.originTime).toBeLessThanOrEqual(totals.servedTime)
  expect(byType.map(({ type, requests }) => [type, requests])).toEqual([
    ['products', 8],
    ['other', 3],
    ['cms', 2],
  ])
  expect(byChannel).toHaveLength(1)
  const forbidden = topMisses.find(({ path }) => path.endsWith('/private'))
  expect(forbidden?.remedy).toContain('have the shop send Cache-Control')
  expect(topMisses.map(({ path, reason, requests }) => [path, reason, requests]).toSorted()).toEqual([
    [`${shop.host}/broken`, expect.any(String), 1],
    [`${shop.host}/private`, expect.stringContaining('private'), 1],
    [`${shop.host}/product`, 'not cached yet', 1],
  ])
  expect((await traffic('?type=products')).totals).toMatchObject({ requests: 8, hits: 7 })
  expect((await traffic('?bucket=minute')).totals).toEqual(totals)
})

it.each([
  ['from=yesterday', 'from'],
  ['bucket=week', 'bucket'],
  ['type=nothing', 'type'],
  ['bucket=minute&from=2026-01-01', 'from'],
  ['from=2999-01-01', 'from'],
  ['last=never', 'last'],
  ['last=0s', 'last'],
  ['last=1h&from=2026-11-22', 'last'],
])('rejects ?%s', async (query, field) => {
  const answer = await shop.ask(`${prefix}/traffic?${query}`, { headers: bearer(token) })
  expect(answer.status).toBe(400)
  expect((jsonOf(answer) as { message: string }).message).toContain(field)
})

it('requires a token', async () => {
  expect((await shop.ask(`${prefix}/traffic`)).status).toBe(401)
})

it('writes the last counts when the daemon stops, and the command reads them without it', async () => {
  const origin = await startOrigin({ otherwise: () => page('page') })
  onTestFinished(() => origin.stop())
  const daemon = await startDaemon({ args: ['--origin', origin.url], projectDir: await tempDir() })
  try {
    for (let count = 0; count < 3; count += 1) await exchange(`${daemon.url}/late`)
  } finally {
    await daemon.stop()
  }
  const { stdout, code } = await daemon.run('cache:traffic', '--json')
  expect(code).toBe(0)
  expect((JSON.parse(stdout) as Traffic).totals).toMatchObject({ requests: 3, hits: 2 })
})
