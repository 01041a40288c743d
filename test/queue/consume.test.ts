import { describe, expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import type { Handler, Message } from '../../src/queue/queue.ts'
import { testQueue } from './open-queue.ts'
import { message, noting } from './consuming.ts'

describe('consume', () => {
  it('takes messages in order, completes them, and ends at its limit', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([1, 2, 3].map((payload) => message(payload)))
    const seen: unknown[] = []
    expect(await timing.until(consume({ handlers: [noting(seen)], limits: { messages: 2 } }))).toEqual({
      taken: 2,
      failures: 0,
      end: 'messages',
    })
    expect(seen).toEqual([1, 2])
    expect(await queue.statistics()).toMatchObject({
      transports: [{ name: 'async', count: 1, waiting: 1 }, { count: 0 }, { count: 0 }],
      workers: [],
    })
  })

  it('empties the first transport before the next', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message('late', { transport: 'scheduler' }), message('first'), message('second')])
    const seen: unknown[] = []
    await timing.until(
      consume({ handlers: [noting(seen)], transports: ['async', 'scheduler'], limits: { messages: 3 } }),
    )
    expect(seen).toEqual(['first', 'second', 'late'])
  })

  it('leaves messages without a handler', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1, { type: 'unknown' }), message(2)])
    const seen: unknown[] = []
    await timing.until(consume({ handlers: [noting(seen)], limits: { messages: 1 } }))
    expect(seen).toEqual([2])
    expect((await queue.statistics()).transports[0]).toMatchObject({ waiting: 1 })
  })

  it('handles as many messages of a type at once as its handler allows, and types do not wait for each other', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([...Array.from({ length: 6 }, (_, index) => message(index)), message('other', { type: 'b' })])
    let now = 0
    let most = 0
    const seen: unknown[] = []
    const slow: Handler = {
      type: 'a',
      concurrency: 2,
      async handle({ lost }) {
        most = Math.max(most, ++now)
        await timing.sleep(1000, lost)
        now--
        seen.push('a')
      },
    }
    await timing.until(consume({ handlers: [slow, noting(seen, { type: 'b' })], limits: { messages: 7 } }))
    expect(most).toBe(2)
    expect(seen[0]).toBe('other')
  })

  it('a message limit does not abort handlers, a time limit does', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1), message(2)])
    const hurried: boolean[] = []
    const handle: Handler['handle'] = async (work) => {
      await timing.sleep(5000, work.stop)
      hurried.push(work.stop.aborted)
    }
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { messages: 1 } }))
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { time: 1000 } }))
    expect(hurried).toEqual([false, true])
  })

  it('ends at its limit of time, failures or memory', async () => {
    const { queue, consume, timing } = await testQueue()
    expect(await timing.until(consume({ handlers: [], limits: { time: 60_000 } }))).toMatchObject({ end: 'time' })
    expect(timing.now()).toBeGreaterThanOrEqual(60_000)
    await queue.dispatch([message(1), message(2), message(3)])
    const broken = { type: 'a', tries: 1, handle: async () => Promise.reject(new Error('broken')) }
    expect(await timing.until(consume({ handlers: [broken], limits: { failures: 2 } }))).toEqual({
      taken: 2,
      failures: 2,
      end: 'failures',
    })
    expect(
      await timing.until(consume({ handlers: [noting([])], limits: { memory: 100 }, memory: () => 101 })),
    ).toMatchObject({ taken: 1, end: 'memory' })
  })
})

describe('a failing message', () => {
  it('is tried three times, with delays of one and two seconds, and then fails', async () => {
    const { queue, consume, timing, events } = await testQueue()
    await queue.dispatch([message({ url: '/x' })])
    const tries: number[] = []
    const handle = async () => {
      tries.push(timing.now())
      throw new Error(`broken ${tries.length}`)
    }
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { failures: 3 } }))
    const [first, second, third] = tries
    expect(tries).toHaveLength(3)
    // An idle worker checks for due messages every 250 ms.
    expect(second! - first! - 1000).toBeGreaterThanOrEqual(0)
    expect(second! - first! - 1000).toBeLessThanOrEqual(250)
    expect(third! - second! - 2000).toBeGreaterThanOrEqual(0)
    expect(third! - second! - 2000).toBeLessThanOrEqual(250)
    expect(events.map(({ kind }) => kind)).toEqual(['retried', 'retried', 'failed'])
    const { total, items } = await queue.listFailed({ limit: 10, offset: 0 })
    expect(total).toBe(1)
    expect(items[0]).toMatchObject({ type: 'a', transport: 'async', attempts: 3, error: 'broken 3' })
    expect(await queue.readFailed(items[0]!.id)).toMatchObject({ payload: { url: '/x' } })
  })

  it('uses the tries and the backoff of its handler', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1)])
    const tries: number[] = []
    const handle = async () => {
      tries.push(timing.now())
      throw new Error('broken')
    }
    await timing.until(
      consume({
        handlers: [{ type: 'a', tries: 5, backoff: (attempts) => attempts * 60_000, handle }],
        sleep: 1000,
        limits: { failures: 5 },
      }),
    )
    expect(tries.map((at) => Math.floor(at / 60_000))).toEqual([0, 1, 3, 6, 10])
  })

  it('is not retried if the error forbids it', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1)])
    const handle = async () => Promise.reject(Object.assign(new Error('never'), { retry: false }))
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { failures: 1 } }))
    expect((await queue.statistics()).failed).toBe(1)
  })

  it('does not count an attempt when the records are locked', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1)])
    const attempts: number[] = []
    const handle: Handler['handle'] = async (work) => {
      attempts.push(work.message.attempts)
      if (attempts.length < 6) throw new PagecacheError('STORE_BUSY', 'locked')
    }
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { messages: 6 } }))
    expect(attempts).toEqual([0, 0, 0, 0, 0, 0])
    expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
  })

  it('can be put back with no attempts counted, or deleted', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([message(1), message(2, { transport: 'scheduler' }), message(3, { key: 'k' })])
    const broken = { type: 'a', tries: 1, handle: async () => Promise.reject(new Error('broken')) }
    await timing.until(consume({ handlers: [broken], transports: ['async', 'scheduler'], limits: { failures: 3 } }))
    // In the meantime another message with the key of a failed one waits.
    expect(await queue.dispatch([message(4, { key: 'k' })])).toBe(1)
    const { items } = await queue.listFailed({ limit: 10, offset: 0, transport: 'scheduler' })
    expect(await queue.removeFailed(items.map(({ id }) => id))).toBe(1)
    expect(await queue.retryFailed(null)).toBe(2)
    const seen: Message[] = []
    await timing.until(
      consume({
        handlers: [{ type: 'a', handle: async (work) => void seen.push(work.message) }],
        limits: { messages: 2 },
      }),
    )
    expect(seen.map(({ payload, attempts, transport }) => [payload, attempts, transport])).toEqual([
      [1, 0, 'async'],
      [3, 0, 'async'],
    ])
    expect(await queue.statistics()).toMatchObject({ transports: [{ count: 0 }, { count: 0 }, { count: 0 }] })
  })
})
