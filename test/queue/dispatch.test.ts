import { describe, expect, it } from 'vitest'
import { dispatch } from '../../src/queue/dispatch.ts'
import { claimOne } from './consuming.ts'
import { start, testQueue } from './open-queue.ts'

async function rows(records: Awaited<ReturnType<typeof testQueue>>['records']) {
  return records.db.selectFrom('queue_messages').selectAll().orderBy('available_at').orderBy('id').execute()
}

describe('dispatch', () => {
  it('keeps the order of a thousand messages of one millisecond, over two calls', async () => {
    const { queue, records } = await testQueue()
    await queue.dispatch(Array.from({ length: 1000 }, (_, payload) => ({ transport: 'async', type: 'a', payload })))
    await queue.dispatch([{ transport: 'async', type: 'a', payload: 1000 }])
    expect((await rows(records)).map(({ payload }) => Number(payload))).toEqual(
      Array.from({ length: 1001 }, (_, index) => index),
    )
  })

  it('commits together with the reason for the message, or not at all', async () => {
    const { queue, records, now } = await testQueue()
    const failing = records.db.transaction().execute(async (transaction) => {
      await dispatch(transaction, now(), [{ transport: 'async', type: 'a', payload: 1 }])
      await queue.dispatch([{ transport: 'async', type: 'a', payload: 2, key: 'k' }], transaction)
      throw new Error('no reason after all')
    })
    await expect(failing).rejects.toThrow('no reason after all')
    expect(await rows(records)).toEqual([])
  })

  it('merges a message into a waiting one with its key, which keeps its time', async () => {
    const { queue, records } = await testQueue()
    expect(await queue.dispatch([{ transport: 'async', type: 'a', payload: 'first', key: 'k', delay: 5000 }])).toBe(1)
    expect(await queue.dispatch([{ transport: 'async', type: 'a', payload: 'second', key: 'k', delay: 9000 }])).toBe(0)
    expect(await queue.dispatch([{ transport: 'async', type: 'a', payload: 'third', key: 'other' }])).toBe(1)
    expect((await rows(records)).map(({ payload, available_at }) => [payload, available_at - start])).toEqual([
      ['"third"', 0],
      ['"first"', 5000],
    ])
  })

  it('delays the waiting message with postpone', async () => {
    const { queue, records } = await testQueue()
    await queue.dispatch([{ transport: 'async', type: 'a', payload: 'first', key: 'k', delay: 5000 }])
    await queue.dispatch([{ transport: 'async', type: 'a', payload: 'second', key: 'k', delay: 9000, postpone: true }])
    expect((await rows(records)).map(({ payload, available_at }) => [payload, available_at - start])).toEqual([
      ['"first"', 9000],
    ])
  })

  it('does not merge into a held message, which may already have read its state', async () => {
    const { queue, records } = await testQueue()
    const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    await queue.dispatch([{ transport: 'async', type: 'a', payload: 1, key: 'k' }])
    const held = await claimOne(worker, 'a')
    expect(await queue.dispatch([{ transport: 'async', type: 'a', payload: 2, key: 'k' }])).toBe(1)
    // Of the two waiting messages, the one with an attempt remains.
    await worker.retry(held!, 1000, 'not now')
    expect((await rows(records)).map(({ payload, attempts, last_error }) => [payload, attempts, last_error])).toEqual([
      ['1', 1, 'not now'],
    ])
  })
})
