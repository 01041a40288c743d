import { expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import { Completions } from '../../src/queue/completions.ts'
import { claimOne } from './consuming.ts'
import { testQueue } from './open-queue.ts'

it('completions commit with the next claim, and only the one with a lost lease rejects', async () => {
  const { queue, records } = await testQueue()
  const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
  await queue.dispatch([1, 2, 3, 4].map((payload) => ({ transport: 'async', type: 'a', payload })))
  const [first, second, third] = await worker.claim(new Map([['a', 3]]), 3)
  await records.db.updateTable('queue_messages').set({ lease: 'of another' }).where('id', '=', second!.id).execute()
  const completed = Promise.allSettled([first!, second!, third!].map((message) => worker.complete(message)))
  expect((await claimOne(worker, 'a'))!.payload).toBe(4)
  expect(
    (await completed).map((result) => (result.status === 'rejected' ? (result.reason as PagecacheError).code : 'done')),
  ).toEqual(['done', 'LEASE_LOST', 'done'])
  expect((await queue.statistics()).transports[0]).toMatchObject({ count: 2, held: 2 })
})

it('completions commit alone without a next claim', async () => {
  const { queue } = await testQueue()
  const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
  await queue.dispatch([{ transport: 'async', type: 'a', payload: 1 }])
  await worker.complete((await claimOne(worker, 'a'))!)
  expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
})

it('a failed commit rejects all completions and the claim', async () => {
  const completions = new Completions(() => Promise.reject(new PagecacheError('STORE_BUSY', 'locked')))
  const added = Promise.allSettled([completions.add({ id: 'a', lease: 'x' }), completions.add({ id: 'b', lease: 'x' })])
  await expect(completions.commitWith(async () => {})).rejects.toThrow('locked')
  expect((await added).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
