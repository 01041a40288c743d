import { expect, it, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { messengerStatistics, removeFailedMessages, retryFailedMessages } from '../../src/operations/messenger.ts'
import { allScopes, performOperation, type OperationContext } from '../../src/operations/operation.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { claimOne } from '../queue/consuming.ts'

it('removes or retries failed messages by ids or all of them, and rejects an empty selection', async () => {
  const app = new App({ loaded: await loadConfig({ projectDir: await tempDir() }), onWarning: () => {} })
  onTestFinished(() => app.close())
  const context: OperationContext = {
    app,
    source: 'api',
    actor: null,
    scopes: allScopes,
    signal: app.signal,
    report: () => {},
  }
  const queue = await app.queue()
  const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
  await queue.dispatch([1, 2, 3].map((payload) => ({ transport: 'async', type: 'a', payload })))
  for (let count = 0; count < 3; count++) await worker.fail((await claimOne(worker, 'a'))!, 'broken')
  const { items } = await queue.listFailed({ limit: 10, offset: 0 })

  for (const input of [{}, { id: items[0]!.id }, { ids: [items[0]!.id], all: true }, { ids: 'x' }, { ids: [''] }]) {
    await expect(performOperation(removeFailedMessages, context, input)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    await expect(performOperation(retryFailedMessages, context, input)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await expect(performOperation(removeFailedMessages, context, { ids: [items[0]!.id, 'none'] })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  expect((await queue.statistics()).failed).toBe(3)
  expect(await performOperation(removeFailedMessages, context, { ids: [items[0]!.id] })).toEqual({
    success: true,
    removed: 1,
  })
  expect(await performOperation(retryFailedMessages, context, { all: true })).toEqual({ success: true, retried: 2 })
  expect(await performOperation(messengerStatistics, context, {})).toMatchObject({
    transports: [{ name: 'async', waiting: 2 }, {}, {}],
    failed: 0,
    workers: [{ current: [] }],
  })
})
