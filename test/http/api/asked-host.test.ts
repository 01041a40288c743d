import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer, createClient, fetchToken, json, jsonOf, prefix } from '../../helpers/api-client.ts'
import { startDaemon, type Daemon } from '../../helpers/daemon.ts'
import { exchange } from '../../helpers/exchange.ts'
import { startStandInShop, type StandInShop } from './stand-in-shop.ts'
import { speak } from '../front/wire.ts'

let shops: StandInShop[]
let daemon: Daemon
let builtin: Daemon

const channels = () =>
  ['one', 'two'].map((name, index) => ({
    id: `0190c0de-0000-7000-8000-00000000000${index}`,
    url: `http://${name}.example`,
    origin: shops[index]!.origin.url,
  }))

beforeAll(async () => {
  shops = [await startStandInShop(), await startStandInShop()]
  daemon = await startDaemon({
    config: { auth: { mode: 'shop' }, trustedProxies: ['127.0.0.1'], salesChannels: channels() },
  })
  builtin = await startDaemon({ config: { salesChannels: channels() } })
})

afterAll(async () => {
  await daemon?.stop()
  await builtin?.stop()
  for (const shop of shops ?? []) await shop.stop()
})

const integration = {
  grant_type: 'client_credentials',
  client_id: 'SWIAQ0JDREVGR0HJSKTMTU5PUA',
  client_secret: 'shop-secret',
}

/** The field of a web server that sends its own Host and forwards the visitor's. */
const forwarded = (name: string) => ({ 'x-forwarded-host': name })

it('verifies a token with the shop that a trusted proxy names', async () => {
  const body = json(integration)
  const login = await exchange(`${daemon.url}/api/oauth/token`, {
    method: 'POST',
    ...body,
    headers: { ...body.headers, ...forwarded('two.example') },
  })
  const { access_token: token } = jsonOf(login) as { access_token: string }
  expect(shops[1]!.tokens.has(token)).toBe(true)
  expect(
    (await exchange(`${daemon.url}${prefix}/stats`, { headers: { ...bearer(token), ...forwarded('two.example') } }))
      .status,
  ).toBe(200)
  expect(
    (await exchange(`${daemon.url}${prefix}/stats`, { headers: { ...bearer(token), ...forwarded('one.example') } }))
      .status,
  ).toBe(401)
})

it('passes /admin to the shop under a Host forwarded by a trusted proxy', async () => {
  expect((await exchange(`${daemon.url}/admin`, { headers: forwarded('one.example') })).body.toString()).toBe('page')
  expect((await exchange(`${daemon.url}/admin`)).body.toString()).toContain('admin.js')
})

it('accepts a target in absolute form', async () => {
  const token = await fetchToken(builtin.url, await createClient(builtin, 'absolute'))
  const { answers } = await speak(
    Number(new URL(builtin.url).port),
    `GET ${builtin.url}${prefix}/stats HTTP/1.1\r\nHost: ${new URL(builtin.url).host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
  )
  expect(answers[0]).toMatchObject({ status: 200, body: expect.stringContaining('"totalFiles":0') as string })
})
