import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectRefusal } from '../../helpers/api.ts'
import { bearer, json, jsonOf, prefix } from '../../helpers/api-client.ts'
import { startDaemon, type Daemon } from '../../helpers/daemon.ts'
import { exchange } from '../../helpers/exchange.ts'
import { startStandInShop, type StandInShop } from './stand-in-shop.ts'

let shop: StandInShop
let daemon: Daemon

beforeAll(async () => {
  shop = await startStandInShop()
  daemon = await startDaemon({
    config: {
      auth: { mode: 'shop' },
      salesChannels: [
        { id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example', origin: shop.origin.url },
      ],
    },
  })
})

afterAll(async () => {
  await daemon?.stop()
  await shop?.stop()
})

const host = { host: 'shop.example' }
const integration = {
  grant_type: 'client_credentials',
  client_id: 'SWIAQ0JDREVGR0HJSKTMTU5PUA',
  client_secret: 'shop-secret',
}

function login(fields: Record<string, string>, headers: Record<string, string> = host) {
  const body = json(fields)
  return exchange(`${daemon.url}/api/oauth/token`, {
    method: 'POST',
    ...body,
    headers: { ...body.headers, ...headers },
  })
}

it("returns the shop's answers unchanged", async () => {
  const good = await login(integration)
  expect([good.status, jsonOf(good)]).toEqual([
    200,
    { token_type: 'Bearer', expires_in: 600, access_token: expect.any(String) as string },
  ])
  expect(good.headers.get('cache-control')).toBe('no-store')
  const bad = await login({ ...integration, client_secret: 'wrong' })
  expect([bad.status, jsonOf(bad)]).toEqual([
    401,
    { errors: [{ code: '4', status: '401', title: 'Client authentication failed', detail: null }] },
  ])
})

it('logs in under the address of the daemon', async () => {
  expect((await login(integration, {})).status).toBe(200)
})

it('verifies a token of the shop once and grants read and write', async () => {
  const { access_token: token } = jsonOf(await login(integration)) as { access_token: string }
  const asked = shop.asked()
  for (const _ of [1, 2, 3])
    expect((await exchange(`${daemon.url}${prefix}/stats`, { headers: bearer(token) })).status).toBe(200)
  expect((await exchange(`${daemon.url}${prefix}/clear`, { method: 'POST', headers: bearer(token) })).status).toBe(200)
  expect(shop.asked()).toBe(asked + 1)
  expect(shop.origin.last('/api/_info/version').headers).toMatchObject({
    host: 'shop.example',
    authorization: `Bearer ${token}`,
  })
})

it('gives the admin page a session that lasts as long as the token of the shop', async () => {
  const { access_token: token } = jsonOf(await login(integration)) as { access_token: string }
  const opened = await exchange(`${daemon.url}/admin/session`, { method: 'POST', headers: bearer(token) })
  const { session } = jsonOf(opened) as { session: { csrfToken: string } }
  expect(session).toMatchObject({ clientId: `shop:${integration.client_id}`, outlivesToken: false })
  expect(opened.headers.get('set-cookie')).toBe(`pagecache-session=${token}; Path=/; HttpOnly; SameSite=Strict`)
  const headers = { cookie: `pagecache-session=${token}`, 'x-csrf-token': session.csrfToken }
  expect((await exchange(`${daemon.url}${prefix}/stats`, { headers })).status).toBe(200)
  expectRefusal(await exchange(`${daemon.url}${prefix}/stats`, { headers: { cookie: headers.cookie } }), 401)
  const unknown = { ...headers, cookie: 'pagecache-session=nonsense' }
  expectRefusal(await exchange(`${daemon.url}${prefix}/stats`, { headers: unknown }), 401)
})

it('rejects a token that the shop rejects', async () => {
  expectRefusal(await exchange(`${daemon.url}${prefix}/stats`, { headers: bearer('nonsense') }), 401)
  expectRefusal(await exchange(`${daemon.url}${prefix}/stats`), 401)
})

it('answers 503, not 401, when the shop fails', async () => {
  shop.origin.on('/api/_info/version', { status: 500, body: 'broken' })
  expectRefusal(await exchange(`${daemon.url}${prefix}/stats`, { headers: bearer('another') }), 503)
})

it('manages its own clients, which cannot log in', async () => {
  shop.origin.on('/api/_info/version', {
    headers: { 'content-type': 'application/json' },
    body: '{"version":"6.7.6.0"}',
  })
  const { access_token: token } = jsonOf(await login(integration)) as { access_token: string }
  const ask = (path: string, value: unknown) => {
    const body = json(value)
    return exchange(`${daemon.url}${prefix}${path}`, {
      method: 'POST',
      ...body,
      headers: { ...body.headers, ...bearer(token) },
    })
  }
  const made = jsonOf(await ask('/clients', { name: 'of the shop' })) as { clientId: string; clientSecret: string }
  const { items } = jsonOf(await exchange(`${daemon.url}${prefix}/clients`, { headers: bearer(token) })) as {
    items: object[]
  }
  expect(items).toMatchObject([{ name: 'of the shop', createdBy: `shop:${integration.client_id}` }])
  expect(
    (await login({ grant_type: 'client_credentials', client_id: made.clientId, client_secret: made.clientSecret }))
      .status,
  ).toBe(401)
  expect((await ask('/clients/revoke', { clientId: made.clientId })).status).toBe(200)
  expect((await ask('/clients/rotate-key', {})).status).toBe(200)
})

it("answers a login as JSON in OAuth's form when the shop is broken", async () => {
  shop.origin.raw('/api/oauth/token', (socket) => void socket.destroy())
  const answer = await login(integration)
  expect([answer.status, answer.headers.get('content-type'), jsonOf(answer)]).toEqual([
    502,
    'application/json',
    expect.objectContaining({ success: false, error: 'temporarily_unavailable' }),
  ])
})
