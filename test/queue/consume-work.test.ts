import { describe, expect, it } from 'vitest'
import type { PagecacheError } from '../../src/errors.ts'
import type { Handler } from '../../src/queue/queue.ts'
import { testQueue } from './open-queue.ts'
import { message, noting, claimOne } from './consuming.ts'

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

  it('is held by one call of a handler, also of the same worker', async () => {
    const { queue, records } = await testQueue()
    const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    await queue.dispatch([1, 2, 3].map((payload) => message(payload, { group: 'g' })))
    const held = (await claimOne(worker, 'a'))!
    // As a handler that writes its result and then takes the next message.
    await records.db.transaction().execute((transaction) => worker.complete(held, transaction))
    const other = (await claimOne(worker, 'a'))!
    expect(other.payload).toBe(2)
    expect(await worker.take(held)).toBeNull()
    const third = (await worker.take(other))!
    expect(third.payload).toBe(3)
    // A heartbeat that has seen the message before must not take it for the one that was given back.
    await worker.release(third, 0)
    const again = (await worker.take(other))!
    expect(again.id).toBe(third.id)
    expect(again.lease).not.toBe(third.lease)
    await worker.complete(again)
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
