import { describe, expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import type { Handler, Message, NewMessage } from '../../src/queue/queue.ts'
import { claimOne } from './claim-one.ts'
import { testQueue } from './open-queue.ts'

function message(payload: unknown, more: Partial<NewMessage> = {}): NewMessage {
  return { transport: 'async', type: 'a', payload, ...more }
}

/** A handler that records its messages. */
function noting(seen: unknown[], more: Partial<Handler> = {}): Handler {
  return { type: 'a', handle: async (work) => void seen.push(work.message.payload), ...more }
}

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

describe('work', () => {
  it('can take further messages of its group and settles each separately', async () => {
    const { queue, consume, timing } = await testQueue()
    await queue.dispatch([
      ...[1, 2, 3, 4].map((payload) => message(payload, { group: 'g' })),
      message('elsewhere', { group: 'h' }),
    ])
    const handle: Handler['handle'] = async (work) => {
      if (work.message.payload !== 1 || work.message.attempts > 0) return
      const second = (await work.take())!
      const third = (await work.take())!
      expect([work.message.payload, second.payload, third.payload]).toEqual([1, 2, 3])
      await work.complete(second)
      await work.release(third, { delay: 60_000 })
      throw new Error('the first is broken')
    }
    await timing.until(consume({ handlers: [{ type: 'a', concurrency: 3, handle }], limits: { messages: 7 } }))
    expect(await queue.statistics()).toMatchObject({ transports: [{ count: 0 }, { count: 0 }, { count: 0 }] })
    expect(timing.now()).toBeGreaterThanOrEqual(60_000)
  })

  it('is not completed if the transaction of its result rolls back', async () => {
    const { queue, consume, timing, records } = await testQueue()
    await queue.dispatch([message(1)])
    let calls = 0
    const handle: Handler['handle'] = async (work) => {
      calls++
      await records.db.transaction().execute(async (transaction) => {
        await work.hold(transaction, work.message)
        await work.complete(work.message, transaction)
        if (calls === 1) throw new Error('no result')
      })
    }
    await timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { messages: 2 } }))
    expect(calls).toBe(2)
    expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
  })

  it('is refused by the fence when another worker holds the message', async () => {
    const { queue, consume, timing, records, events } = await testQueue()
    await queue.dispatch([message(1)])
    const refused: unknown[] = []
    const handle: Handler['handle'] = async (work) => {
      // Changes the lease, as another worker would after a takeover.
      await records.db.updateTable('queue_messages').set({ lease: 'of another worker' }).execute()
      try {
        await records.db.transaction().execute((transaction) => work.hold(transaction, work.message))
      } catch (error) {
        refused.push((error as PagecacheError).code, work.lost.aborted)
        throw error
      }
    }
    const handled = timing.until(consume({ handlers: [{ type: 'a', handle }], limits: { messages: 1 } }))
    await handled
    expect(refused).toEqual(['LEASE_LOST', true])
    expect(events.map(({ kind }) => kind)).toEqual(['lost'])
  })
})

describe('a group', () => {
  it('is held by one worker; others take messages of other groups or without a group', async () => {
    const { queue, again } = await testQueue()
    const first = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    const second = await (await again()).join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    await queue.dispatch([
      message(1, { group: 'g' }),
      message(2, { group: 'g' }),
      message(3, { group: 'h' }),
      message(4),
    ])
    const held = await claimOne(first, 'a')
    expect(held!.payload).toBe(1)
    expect((await claimOne(second, 'a'))!.payload).toBe(3)
    expect((await claimOne(second, 'a'))!.payload).toBe(4)
    expect(await claimOne(second, 'a')).toBeNull()
    expect((await first.take(held!))!.payload).toBe(2)
    expect(await first.take(held!)).toBeNull()
    await first.complete(held!)
    // The second message of the group is still held.
    await queue.dispatch([message(5, { group: 'g' })])
    expect(await claimOne(second, 'a')).toBeNull()
  })
})

describe('the clock', () => {
  it('of a process that is hours ahead delays nothing for hours', async () => {
    const { queue, consume, timing, jump } = await testQueue()
    jump(5 * 3_600_000)
    await queue.dispatch([message('at once'), message('in a second', { delay: 1000 })])
    jump(-5 * 3_600_000)
    const seen: unknown[] = []
    await timing.until(consume({ handlers: [noting(seen)], limits: { messages: 2 } }))
    expect(seen).toEqual(['at once', 'in a second'])
    expect(timing.now()).toBeLessThan(10_000)
  })

  it('that jumps takes no message from a living worker', async () => {
    const { queue, consume, timing, jump, events, again } = await testQueue()
    await queue.dispatch([message(1)])
    const stop = new AbortController()
    const handle: Handler['handle'] = async (work) => {
      for (const hours of [7, -9]) {
        jump(hours * 3_600_000)
        await timing.sleep(40_000, work.lost)
      }
      stop.abort()
    }
    const options = { handlers: [{ type: 'a', handle }], stop: stop.signal }
    await timing.until(Promise.all([consume(options), consume({ ...options, queue: await again() })]))
    expect(events.map(({ kind }) => kind)).toEqual(['handled'])
  })

  it('takes over the messages of a silent worker of another machine after 15 to 20 s', async () => {
    const { queue, consume, timing, again, records } = await testQueue()
    const silent = await (await again()).join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    await records.db.updateTable('queue_workers').set({ host: 'elsewhere', boot_id: 'another boot' }).execute()
    await queue.dispatch([message(1)])
    const held = await claimOne(silent, 'a')
    const taken: number[] = []
    await timing.until(
      consume({
        handlers: [{ type: 'a', handle: async () => void taken.push(timing.now()) }],
        limits: { messages: 1 },
      }),
    )
    expect(taken[0]).toBeGreaterThanOrEqual(15_000)
    expect(taken[0]).toBeLessThanOrEqual(20_000)
    expect(await silent.beat()).toBe(false)
    await expect(silent.complete(held!)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })
})

it('the event loop runs between two messages, however many wait', async () => {
  const { queue, consume, timing } = await testQueue()
  await queue.dispatch(Array.from({ length: 300 }, (_, payload) => message(payload)))
  let turns = 0
  let counting = true
  const count = () => {
    turns++
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  await timing.until(consume({ handlers: [noting([])], limits: { messages: 300 } }))
  counting = false
  expect(turns).toBeGreaterThanOrEqual(300)
})
