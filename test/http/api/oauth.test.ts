import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../../helpers/api.ts'
import { askToken, bearer, createClient, fetchToken, json, jsonOf, prefix } from '../../helpers/api-client.ts'
import { startStandInShop, type StandInShop } from './stand-in-shop.ts'

let shop: StandInShop
let api: Api

beforeAll(async () => {
  shop = await startStandInShop()
  api = await openApi({ args: ['--origin', shop.origin.url], config: { trustedProxies: ['127.0.0.1'] } })
})

afterAll(async () => {
  await api?.stop()
  await shop?.stop()
})

const path = '/api/oauth/token'
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Each test comes from an address of its own, so that none runs into another one's limit. */
let host = 0
const from = () => ({ 'x-forwarded-for': `203.0.113.${++host}` })

function credentials(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    grant_type: 'client_credentials',
    client_id: api.write.clientId,
    client_secret: api.write.clientSecret,
    ...more,
  }
}

async function post(value: unknown, headers: Record<string, string> = {}) {
  const body = json(value)
  return api.ask(path, { method: 'POST', ...body, headers: { ...body.headers, ...from(), ...headers } })
}

describe('a token', () => {
  it('is issued for JSON and for a form, with the client in the body or as Basic', async () => {
    const fields = credentials() as Record<string, string>
    const basic = { authorization: `Basic ${btoa(`${api.write.clientId}:${api.write.clientSecret}`)}` }
    for (const answer of [
      await post(fields),
      await api.ask(path, { method: 'POST', headers: form, body: new URLSearchParams(fields).toString() }),
      await api.ask(path, { method: 'POST', headers: { ...form, ...basic }, body: 'grant_type=client_credentials' }),
      await api.ask(path, {
        method: 'POST',
        headers: { ...json({}).headers, ...basic },
        body: JSON.stringify({ grant_type: 'client_credentials' }),
      }),
    ]) {
      expect(answer.status, answer.body.toString()).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const value = jsonOf(answer) as { access_token: string }
      expect(value).toEqual({
        token_type: 'Bearer',
        expires_in: 600,
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string,
      })
      expect((await api.ask(`${prefix}/stats`, { headers: bearer(value.access_token) })).status).toBe(200)
    }
  })

  it('of a smaller scope allows less', async () => {
    const { access_token: token } = jsonOf(await post(credentials({ scope: 'read' }))) as { access_token: string }
    expect((await api.ask(`${prefix}/stats`, { headers: bearer(token) })).status).toBe(200)
    expectRefusal(await api.ask(`${prefix}/clear`, { method: 'POST', headers: bearer(token) }), 403)
  })
})

it.each([
  [400, 'invalid_request', { grant_type: undefined }],
  [400, 'unsupported_grant_type', { grant_type: 'password' }],
  [400, 'invalid_request', { client_id: undefined }],
  [400, 'invalid_request', { client_secret: '' }],
  [400, 'invalid_request', { client_id: 5 }],
  [400, 'invalid_request', { client_secret: ['a'] }],
  [400, 'invalid_request', { scope: {} }],
  [400, 'invalid_scope', { scope: 'admin' }],
  [401, 'invalid_client', { client_secret: 'wrong' }],
  [401, 'invalid_client', { client_id: 'unknown' }],
  [401, 'invalid_client', { client_id: '__proto__' }],
  [401, 'invalid_client', { client_id: 'x'.repeat(100_000) }],
  [401, 'invalid_client', { client_secret: '\u0000' }],
])('%d %s: %j', async (status, error, fields) => {
  const answer = await post({ ...credentials(fields), status: 200, value: 'mine', headers: {} })
  expect(answer.status).toBe(status)
  expect(jsonOf(answer)).toEqual({
    error,
    error_description: expect.any(String) as string,
    success: false,
    message: expect.any(String) as string,
  })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer')
})

it('answers a wrong secret like an unknown client', async () => {
  const [wrong, unknown] = [
    await post(credentials({ client_secret: 'wrong' })),
    await post(credentials({ client_id: '0190c0de-0000-7000-8000-000000000009' })),
  ]
  expect(wrong.body.equals(unknown.body)).toBe(true)
  const fields = ({ headers }: typeof wrong) =>
    [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  expect(fields(wrong)).toEqual(fields(unknown))
})

it.each([
  [
    'another media type',
    400,
    { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'grant_type=client_credentials' },
  ],
  ['no media type', 400, { method: 'POST', headers: { 'content-length': '1' }, body: '{' }],
  ['broken JSON', 400, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }],
  ['JSON that is no object', 400, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '[1]' }],
  [
    'a field twice',
    400,
    { method: 'POST', headers: form, body: 'grant_type=client_credentials&client_id=a&client_id=b&client_secret=c' },
  ],
  [
    'a client that names itself twice',
    400,
    {
      method: 'POST',
      headers: { ...form, authorization: `Basic ${btoa('a:b')}` },
      body: 'grant_type=client_credentials&client_id=a&client_secret=b',
    },
  ],
  [
    'broken Basic credentials',
    400,
    { method: 'POST', headers: { ...form, authorization: 'Basic !' }, body: 'grant_type=client_credentials' },
  ],
  ['GET', 405, { method: 'GET' }],
  [
    'a form of another site',
    403,
    { method: 'POST', headers: { ...form, origin: 'http://evil.example' }, body: 'grant_type=client_credentials' },
  ],
  [
    'a form of a page without an origin',
    403,
    { method: 'POST', headers: { ...form, origin: 'null' }, body: 'grant_type=client_credentials' },
  ],
  ['a body that is announced too large', 413, { method: 'POST', headers: form, body: 'x'.repeat(1024 * 1024 + 1) }],
  [
    'a chunked body that is too large',
    413,
    { method: 'POST', headers: { ...form, 'transfer-encoding': 'chunked' }, body: 'x'.repeat(1024 * 1024 + 1) },
  ],
  ['a foreign Host', 421, { method: 'POST', headers: { ...form, host: 'evil.example' }, body: '' }],
])('%s: %d', async (_, status, request) => {
  const answer = await api.ask(path, request as never)
  expect(answer.status, answer.body.toString()).toBe(status)
  const { message, ...oauth } = jsonOf(answer) as Record<string, unknown>
  const error = expect.stringMatching(/^[a-z_]+$/) as string
  expect(oauth).toEqual({ error, error_description: message, success: false })
  expect(message).toMatch(/./)
})

it('rejects a secret in the URL', async () => {
  const query = new URLSearchParams(credentials() as Record<string, string>)
  expect(
    (await api.ask(`${path}?${query}`, { method: 'POST', headers: form, body: 'grant_type=client_credentials' }))
      .status,
  ).toBe(400)
})

describe('failures', () => {
  it('are limited per client; the owner can still log in from another address', async () => {
    const client = await createClient(api.daemon, 'guessed')
    let last = await askToken(api.daemon.url, { ...client, clientSecret: 'wrong' }, from())
    expect(last.status).toBe(401)
    for (let turn = 0; turn < 30; turn++)
      last = await askToken(api.daemon.url, { ...client, clientSecret: 'wrong' }, from())
    expect(last.status).toBe(429)
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(jsonOf(last)).toMatchObject({ error: 'slow_down', success: false })
    expect((await askToken(api.daemon.url, client, from())).status).toBe(200)
  })

  it('are limited per address', async () => {
    const address = from()
    for (let turn = 0; turn < 10; turn++)
      expect((await askToken(api.daemon.url, { clientId: `unknown-${turn}`, clientSecret: 'x' }, address)).status).toBe(
        401,
      )
    expect((await askToken(api.daemon.url, api.write, address)).status).toBe(429)
    expect((await askToken(api.daemon.url, api.write, from())).status).toBe(200)
  })
})

it('rejects a client at once when another process revokes it', async () => {
  const client = await createClient(api.daemon, 'leaver')
  const token = await fetchToken(api.daemon.url, client)
  expect((await api.ask(`${prefix}/stats`, { headers: bearer(token) })).status).toBe(200)
  expect(await api.daemon.run('client:revoke', client.clientId)).toMatchObject({ code: 2 })
  expect(await api.daemon.run('client:revoke', client.clientId, '--yes')).toMatchObject({ code: 0 })
  expectRefusal(await api.ask(`${prefix}/stats`, { headers: bearer(token) }), 401)
  expect((await askToken(api.daemon.url, client, from())).status).toBe(401)
  expect(await api.daemon.run('client:revoke', client.clientId, '--yes')).toMatchObject({ code: 3 })
  expect(await api.daemon.run('client:revoke', 'unknown', '--yes')).toMatchObject({ code: 3 })
})

it('accepts tokens of a rotated key until the key is dropped by any process', async () => {
  const before = await fetchToken(api.daemon.url, api.write)
  expect((await api.daemon.run('client:rotate-key')).code).toBe(0)
  const after = await fetchToken(api.daemon.url, api.write)
  for (const token of [before, after])
    expect((await api.ask(`${prefix}/stats`, { headers: bearer(token) })).status).toBe(200)
  expect((await api.daemon.run('client:rotate-key', '--drop-old', '--yes')).code).toBe(0)
  for (const token of [before, after]) expectRefusal(await api.ask(`${prefix}/stats`, { headers: bearer(token) }), 401)
  api.write.token = await fetchToken(api.daemon.url, api.write)
  expect((await api.ask(`${prefix}/stats`, { headers: bearer(api.write.token) })).status).toBe(200)
})

describe("the shop's own clients", () => {
  it('log in at the shop through the daemon', async () => {
    for (const body of [
      { grant_type: 'password', client_id: 'administration', username: 'admin', password: 'shopware', scopes: 'write' },
      { grant_type: 'client_credentials', client_id: 'SWIAQ0JDREVGR0HJSKTMTU5PUA', client_secret: 'shop-secret' },
    ]) {
      const answer = await post(body)
      expect(answer.status).toBe(200)
      expect(shop.tokens).toContain((jsonOf(answer) as { access_token: string }).access_token)
    }
  })

  it('are unknown to the daemon', async () => {
    const { access_token: token } = jsonOf(await post({ grant_type: 'password', client_id: 'administration' })) as {
      access_token: string
    }
    expectRefusal(await api.ask(`${prefix}/stats`, { headers: bearer(token) }), 401)
  })
})

it('lists when each client was last used, and no secrets', async () => {
  const { stdout } = await api.daemon.run('client:list', '--json')
  const { items } = JSON.parse(stdout) as { items: { clientId: string; lastUsedAt: string | null }[] }
  expect(items.find(({ clientId }) => clientId === api.write.clientId)?.lastUsedAt).toMatch(/^20/)
  expect(stdout).not.toContain(api.write.clientSecret)
})
