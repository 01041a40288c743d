import { afterAll, beforeAll, expect, it } from 'vitest'
import { openApi, type Api } from '../../helpers/api.ts'
import { bearer, createClient, fetchToken, prefix } from '../../helpers/api-client.ts'

let api: Api

beforeAll(async () => {
  api = await openApi({ config: { server: { processes: 3 } } })
})

afterAll(() => api?.stop())

/** Each request on a connection of its own, so that all processes get some. */
async function statuses(token: string): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: 24 }, () => api.ask(`${prefix}/stats`, { headers: bearer(token) })),
  )
  return [...new Set(answers.map(({ status }) => status))]
}

it('every process accepts the tokens of the others until the client is revoked or the key dropped', async () => {
  const client = await createClient(api.daemon, 'everywhere')
  const tokens = await Promise.all(Array.from({ length: 6 }, () => fetchToken(api.daemon.url, client)))
  for (const token of tokens) expect(await statuses(token)).toEqual([200])
  expect((await api.daemon.run('client:rotate-key')).code).toBe(0)
  expect(await statuses(await fetchToken(api.daemon.url, client))).toEqual([200])
  expect((await api.daemon.run('client:revoke', client.clientId, '--yes')).code).toBe(0)
  for (const token of tokens) expect(await statuses(token)).toEqual([401])
  expect(await statuses(api.write.token)).toEqual([200])
  expect((await api.daemon.run('client:rotate-key', '--drop-old', '--yes')).code).toBe(0)
  expect(await statuses(api.write.token)).toEqual([401])
  expect(await statuses(await fetchToken(api.daemon.url, api.write))).toEqual([200])
})
