import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { App } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Authority } from '../../../src/auth/authority.ts'
import type { Judge } from '../../../src/auth/judgement.ts'
import { createApi } from '../../../src/http/api/app.ts'
import type { ApiOptions } from '../../../src/http/api/options.ts'
import type { StageEndpoints } from '../../../src/http/stages/request.ts'
import { cacheStatistics } from '../../../src/operations/cache.ts'
import { PagecacheError } from '../../../src/errors.ts'
import { send } from '../../../src/http/send.ts'
import type { Operation } from '../../../src/operations/operation.ts'
import { bearer, prefix } from '../../helpers/api-client.ts'
import { expectRefusal } from '../../helpers/api.ts'
import { exchange } from '../../helpers/exchange.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

/** Starts the API with one operation and a judge that accepts every token. */
async function startApi(operation: Operation, options: Partial<ApiOptions> = {}) {
  const app = new App({
    loaded: await loadConfig({ projectDir: await tempDir() }, { variables: {} }),
    onWarning: () => {},
  })
  const logged: unknown[] = []
  const judge: Judge = { judge: () => ({ kind: 'accepted', actor: 'me', scopes: ['read', 'write'] }) }
  const answerOwn = createApi(
    {
      app,
      authority: async () => judge as Authority,
      shopJudge: async () => judge,
      shop: null,
      isReady: () => true,
      retired: new AbortController().signal,
      isTrusted: () => false,
      isKnownHost: () => true,
      metrics: async () => ({ type: 'text/plain', text: '' }),
      stages: {} as StageEndpoints,
      onError: (message, error) => logged.push(message, error),
      onPerformed: () => {},
      ...options,
    },
    [operation],
  )
  const server = createServer((request, response) => {
    const target = request.url!
    const accepted = { scheme: 'http', host: request.headers.host!, target }
    answerOwn({ kind: 'operation', path: target.split('?')[0]! }, request, accepted, {
      send: (answer, extra) => send(response, answer, extra),
      invite: () => {},
      pass: async () => false,
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(async () => {
    server.close()
    await app.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, logged }
}

const failing = (error: unknown): Operation => ({ ...cacheStatistics, run: () => Promise.reject(error) }) as Operation

it('refuses requests while the daemon is stopping', async () => {
  const { url } = await startApi(cacheStatistics as Operation, { isReady: () => false })
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 503, /stopping/)
  expect([answer.headers.get('connection'), answer.headers.get('retry-after')]).toEqual(['close', '5'])
})

it('hides an unexpected error from the client and logs it', async () => {
  const bug = new Error('/var/secret/place: canary')
  const { url, logged } = await startApi(failing(bug))
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 500)
  expect(answer.body.toString() + JSON.stringify([...answer.headers])).not.toContain('canary')
  expect(logged).toEqual([`GET ${prefix}/stats failed`, bug])
})

it('hides the cause of a machine failure but sends its error code', async () => {
  const { url, logged } = await startApi(
    failing(new PagecacheError('STORE_FULL', '/var/secret/place is full', { hint: 'Look into /var/secret.' })),
  )
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 503)
  expect(answer.body.toString() + JSON.stringify([...answer.headers])).not.toContain('secret')
  expect(answer.headers.get('pagecache-error')).toBe('STORE_FULL')
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(logged.length).toBe(2)
})

it('sends the message and hint of an error that the operator can act on', async () => {
  const { url, logged } = await startApi(
    failing(new PagecacheError('WRONG_STATE', 'It is paused.', { hint: 'Résumé: go on.\nNow.' })),
  )
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 409, /^It is paused\.$/)
  expect(decodeURIComponent(answer.headers.get('pagecache-hint')!)).toBe('Résumé: go on.\nNow.')
  expect(logged).toEqual([])
})

it('encodes and shortens a hint of any text and length', async () => {
  const { url } = await startApi(
    failing(new PagecacheError('WRONG_STATE', '\ud800', { hint: `\ud800\r\nX: y${'ä'.repeat(9000)}` })),
  )
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expect(answer.status).toBe(409)
  expect(decodeURIComponent(answer.headers.get('pagecache-hint')!)).toMatch(/^\ufffd\r\nX: yää/)
  expect(answer.headers.get('x')).toBeNull()
})

it('answers 503, not 401, where tokens cannot be judged', async () => {
  const { url } = await startApi(cacheStatistics as Operation, {
    authority: () => Promise.reject(new PagecacheError('STORE_BUSY', 'locked')),
  })
  expectRefusal(await exchange(`${url}/stats`, { headers: bearer('token') }), 503)
})
