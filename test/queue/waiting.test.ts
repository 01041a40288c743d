import { expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import type { Handler, Membership, Queue } from '../../src/queue/queue.ts'
import { message, noting } from './consuming.ts'
import { testQueue } from './open-queue.ts'

/** The same queue, whose workers do something else before they claim messages. */
function before(queue: Queue, act: () => Promise<void>): Queue {
  return {
    ...queue,
    async join(worker): Promise<Membership> {
      const membership = await queue.join(worker)
      const claim = membership.claim.bind(membership)
      return Object.assign(membership, {
        claim: async (...wanted: Parameters<Membership['claim']>) => {
          await act()
          return claim(...wanted)
        },
      })
    },
  }
}

it('a worker tries again soon while the records are unavailable, and says so once', async () => {
  const { queue, consume, timing, events } = await testQueue()
  await queue.dispatch([message(1)])
  let attempts = 0
  const full = before(queue, async () => {
    attempts += 1
    if (attempts <= 10) throw new PagecacheError('STORE_FULL', 'the disk is full')
  })
  const seen: unknown[] = []
  await timing.until(consume({ queue: full, handlers: [noting(seen)], limits: { messages: 1 } }))
  expect(seen).toEqual([1])
  expect(timing.now()).toBeLessThan(5000)
  expect(events.map(({ kind }) => kind)).toEqual(['unavailable', 'handled'])
})

it('a worker notices a handler that returns while it claims messages of other types', async () => {
  const { queue, consume, timing } = await testQueue()
  await queue.dispatch([message(1), message(2)])
  let isCompleted = false
  const claiming = Promise.withResolvers<void>()
  let returnedAt = 0
  const busy = before(queue, async () => {
    if (!isCompleted) return
    isCompleted = false
    returnedAt = timing.now()
    claiming.resolve()
    // Long enough for the handler, and too short for the clock to advance.
    for (let step = 0; step < 50; step++) await Promise.resolve()
  })
  const began: number[] = []
  const handle: Handler['handle'] = async (work) => {
    began.push(timing.now())
    await work.complete(work.message)
    isCompleted = began.length === 1
    await claiming.promise
  }
  const handlers = [{ type: 'a', handle }, noting([], { type: 'b' })]
  await timing.until(consume({ queue: busy, handlers, limits: { messages: 2 } }))
  expect(began[1]! - returnedAt).toBeLessThan(100)
})

it('a worker continues after records whose version could not be read', async () => {
  const { queue, consume, timing, events } = await testQueue()
  await queue.dispatch([message(1)])
  let reads = 0
  const troubled: Queue = {
    ...queue,
    async join(worker) {
      const membership = await queue.join(worker)
      const version = membership.version.bind(membership)
      return Object.assign(membership, {
        version: () => {
          reads += 1
          if (reads <= 3) throw new PagecacheError('STORE_LOST', 'the file was emptied')
          return version()
        },
      })
    },
  }
  const seen: unknown[] = []
  await timing.until(consume({ queue: troubled, handlers: [noting(seen)], limits: { messages: 1 } }))
  expect(seen).toEqual([1])
  expect(events.map(({ kind }) => kind)).toEqual(['unavailable', 'handled'])
})

it('a busy worker that cannot reach the records says so once', async () => {
  const { queue, consume, timing, events } = await testQueue()
  await queue.dispatch([message(1)])
  let attempts = 0
  const cut: Queue = {
    ...queue,
    async join(worker) {
      const membership = await queue.join(worker)
      const list = membership.listWorkers.bind(membership)
      const listWorkers = async () => {
        attempts += 1
        if (attempts > 1 && attempts <= 6) throw new PagecacheError('STORE_UNREACHABLE', 'the database is away')
        return list()
      }
      return Object.assign(membership, { listWorkers })
    },
  }
  const handle: Handler['handle'] = async (work) => {
    await timing.sleep(20_000)
    await work.complete(work.message)
  }
  await timing.until(consume({ queue: cut, handlers: [{ type: 'a', handle }], limits: { messages: 1 } }))
  expect(attempts).toBeGreaterThan(6)
  expect(events.map(({ kind }) => kind)).toEqual(['unavailable', 'handled'])
})
