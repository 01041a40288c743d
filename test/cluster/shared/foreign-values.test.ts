import { describe, expect, it } from 'vitest'
import { hasRedis } from '../../helpers/redis.ts'
import { page, useNodes, written, type Node } from './nodes.ts'

describe.skipIf(!hasRedis)('a value in Redis that no node wrote (skipped where redis-server is not installed)', () => {
  const nodes = useNodes()

  it.each([
    ['garbage', 'x'.repeat(1000)],
    ['nothing', ''],
    ['far too much', Buffer.alloc(8 * 1024 * 1024)],
  ])('asks the shop: %s', async (_, value) => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    await a.visit('/')
    await written(a)
    const [key] = (await nodes.redis.run('KEYS', '*:pages:*')) as [string]
    const [field] = (await nodes.redis.run('HKEYS', key)) as [string]
    await nodes.redis.run('HSET', key, field, value)
    b.answers({ ...page, body: 'from the shop' })
    expect((await b.visit('/')).text).toBe('from the shop')
  })

  it('asks the shop when the value belongs to another page', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    for (const path of ['/', '/other']) await a.visit(path)
    await written(a, 2)
    const keys = (await nodes.redis.run('KEYS', '*:pages:*')) as string[]
    const script = `local field = redis.call('HKEYS', KEYS[1])[1]
        local other = redis.call('HKEYS', KEYS[2])[1]
        local value = redis.call('HGET', KEYS[1], field)
        redis.call('HSET', KEYS[1], field, redis.call('HGET', KEYS[2], other))
        redis.call('HSET', KEYS[2], other, value)`
    await nodes.redis.run('EVAL', script, '2', ...keys)
    b.answers({ ...page, body: 'from the shop' })
    expect((await b.visit('/')).text).toBe('from the shop')
    expect((await b.visit('/other')).text).toBe('from the shop')
    expect(b.shared.counts.invalid).toBe(2)
  })

  it('asks the shop when another program uses the key', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    await a.visit('/')
    await written(a)
    const [key] = (await nodes.redis.run('KEYS', '*:pages:*')) as string[]
    await nodes.redis.run('SET', key!, 'a text')
    b.answers({ ...page, body: 'from the shop' })
    expect((await b.visit('/')).text).toBe('from the shop')
  })
})
