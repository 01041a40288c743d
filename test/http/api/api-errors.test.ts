import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { App } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { answerApi, type ApiOptions } from '../../../src/http/api/api.ts'
import { endpointsOf, routerOf } from '../../../src/http/api/endpoints.ts'
import { sendAnswer } from '../../../src/http/api/send-answer.ts'
import { SharedAnswers } from '../../../src/http/api/shared-answers.ts'
import { cacheStatistics } from '../../../src/operations/cache.ts'
import { PagecacheError } from '../../../src/errors.ts'
import type { Operation } from '../../../src/operations/operation.ts'
import { bearer, prefix } from '../../helpers/api-client.ts'
import { expectRefusal } from '../../helpers/api.ts'
import { exchange } from '../../helpers/exchange.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

/** The API by itself, with one operation and a judge that accepts everybody. */
async function startApi(operation: Operation, options: Partial<ApiOptions> = {}) {
  const app = new App({
    loaded: await loadConfig({ projectDir: await tempDir() }, { variables: {} }),
    onWarning: () => {},
  })
  const logged: unknown[] = []
  const route = routerOf(endpointsOf([operation]))
  const api: ApiOptions = {
    app,
    judge: async () => ({ judge: () => ({ kind: 'accepted', actor: 'me', scopes: ['read', 'write'] }) }),
    isReady: () => true,
    isTrusted: () => false,
    onError: (message, error) => logged.push(message, error),
    onPerformed: () => {},
    shared: new SharedAnswers(),
    ...options,
  }
  const server = createServer(
    (request, response) =>
      void answerApi(request, route(request.url!.split('?')[0]!), api).then((answer) =>
        sendAnswer(request, response, answer),
      ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(async () => {
    server.close()
    await app.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, logged }
}

const failing = (error: unknown): Operation => ({ ...cacheStatistics, run: () => Promise.reject(error) }) as Operation

it('a daemon that is stopping takes nothing more up', async () => {
  const { url } = await startApi(cacheStatistics as Operation, { isReady: () => false })
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 503, /stopping/)
  expect([answer.headers.get('connection'), answer.headers.get('retry-after')]).toEqual(['close', '5'])
})

it('a bug of ours is neutral outside, and in the log', async () => {
  const bug = new Error('/var/secret/place: canary')
  const { url, logged } = await startApi(failing(bug))
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 500)
  expect(answer.body.toString() + JSON.stringify([...answer.headers])).not.toContain('canary')
  expect(logged).toEqual([`GET ${prefix}/stats failed`, bug])
})

it('what is wrong with the machine is neutral outside, with its code', async () => {
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

it('what an operator can act on is said, with its hint', async () => {
  const { url, logged } = await startApi(
    failing(new PagecacheError('WRONG_STATE', 'It is paused.', { hint: 'Résumé: go on.\nNow.' })),
  )
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expectRefusal(answer, 409, /^It is paused\.$/)
  expect(decodeURIComponent(answer.headers.get('pagecache-hint')!)).toBe('Résumé: go on.\nNow.')
  expect(logged).toEqual([])
})

it('a hint of any text and length is no fault', async () => {
  const { url } = await startApi(
    failing(new PagecacheError('WRONG_STATE', '\ud800', { hint: `\ud800\r\nX: y${'ä'.repeat(9000)}` })),
  )
  const answer = await exchange(`${url}/stats`, { headers: bearer('token') })
  expect(answer.status).toBe(409)
  expect(decodeURIComponent(answer.headers.get('pagecache-hint')!)).toMatch(/^\ufffd\r\nX: yää/)
  expect(answer.headers.get('x')).toBeNull()
})

it('nobody who could judge a token is no refusal of it', async () => {
  const { url } = await startApi(cacheStatistics as Operation, {
    judge: () => Promise.reject(new PagecacheError('STORE_BUSY', 'locked')),
  })
  expectRefusal(await exchange(`${url}/stats`, { headers: bearer('token') }), 503)
})
