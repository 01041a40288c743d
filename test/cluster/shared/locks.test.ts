import { describe, expect, it } from 'vitest'
import type { Reply } from '../../cache/scripted-origin.ts'
import { hasRedis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'
import { page, useNodes, written, type Node } from './nodes.ts'

/** A visit for which the shop of a node is asked, and answers when it is told to. */
async function beginVisit(node: Node, reply: Reply = page) {
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  node.answers(async () => {
    await promise
    return reply
  })
  const slow = node.visit('/')
  await until(() => node.origin.requests.length === 1)
  return { slow, answer }
}

describe.skipIf(!hasRedis)('fetches that other nodes wait for (skipped where redis-server is not installed)', () => {
  const nodes = useNodes()

  it('fetches for itself when another node takes too long', async () => {
    const [a, b] = (await nodes.open(2, { waitFor: 50 })) as [Node, Node]
    const { slow, answer } = await beginVisit(a)
    expect((await b.visit('/')).text).toBe('the page')
    expect(b.origin.requests).toHaveLength(1)
    answer()
    await slow
  })

  it('waits on for a slow page while other pages arrive', async () => {
    const [a, b] = (await nodes.open(2, { waitFor: 500 })) as [Node, Node]
    // Each page takes until the other node has the one before: all of them take longer than the limit.
    const paths = Array.from({ length: 15 }, (_, number) => `/${number}`)
    a.answers(async ({ target }) => {
      await until(() => b.shared.counts.hits >= paths.indexOf(target), 1)
      return page
    })
    const fetching = paths.map((path) => a.visit(path))
    await until(() => a.origin.requests.length === paths.length)
    const answers = await Promise.all(paths.map((path) => b.visit(path)))
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['the page']))
    expect(b.origin.requests).toEqual([])
    await Promise.all(fetching)
  })

  it('keeps its lock while a fetch takes long', async () => {
    const [a] = (await nodes.open(1)) as [Node]
    const { slow, answer } = await beginVisit(a)
    const [lock] = (await nodes.redis.run('KEYS', '*:lock:*')) as [string]
    await nodes.redis.run('PEXPIRE', lock, '600000')
    await until(async () => Number(await nodes.redis.run('PTTL', lock)) <= 5000, 100)
    answer()
    await slow
  })

  it('stops waiting when the other node could not share the page', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const { slow, answer } = await beginVisit(a, { fields: { 'Cache-Control': 'private' }, body: 'for one visitor' })
    const other = b.visit('/')
    await until(() => b.shared.counts.waits === 1)
    answer()
    expect((await slow).text).toBe('for one visitor')
    expect((await other).text).toBe('the page')
    expect(await nodes.redis.run('KEYS', '*:lock:*')).toEqual([])
  })

  it('leaves a lock alone that belongs to another node by now', async () => {
    const [a] = (await nodes.open(1)) as [Node]
    a.answers(async () => {
      const [lock] = (await nodes.redis.run('KEYS', '*:lock:*')) as string[]
      await nodes.redis.run('SET', lock!, 'another node')
      return page
    })
    await a.visit('/')
    await written(a)
    await a.shared.close()
    const [lock] = (await nodes.redis.run('KEYS', '*:lock:*')) as string[]
    expect(await nodes.redis.run('GET', lock!)).toBe('another node')
    expect(await nodes.redis.run('PTTL', lock!)).toBe(-1)
  })

  it('waits for the lock of a node that died no longer than the lock lasts', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    let lock = ''
    a.answers(async () => {
      ;[lock] = (await nodes.redis.run('KEYS', '*:lock:*')) as [string]
      expect(await nodes.redis.run('PTTL', lock)).toBeGreaterThan(0)
      return page
    })
    expect((await a.visit('/')).status).toBe(200)
    await written(a)
    await nodes.redis.run('FLUSHALL')
    await nodes.redis.run('SET', lock, 'a dead node', 'PX', '300')
    expect((await b.visit('/')).text).toBe('the page')
    expect(b.shared.counts.waits).toBe(1)
    expect(b.origin.requests).toHaveLength(1)
  })
})
