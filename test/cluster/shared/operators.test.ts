import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../../src/app.ts'
import { toWanted } from '../../../src/cache/wanted.ts'
import { openMetrics } from '../../../src/http/api/metrics.ts'
import { checkSharedPages } from '../../../src/operations/doctor/shared-pages-check.ts'
import { createStageCounts } from '../../../src/stages/counts.ts'
import { Traffic } from '../../../src/traffic/traffic.ts'
import { shopUrl } from '../../cache/site.ts'
import { hasRedis, startRedis, type Redis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'
import { connected, openNode, Purges, type Node } from './nodes.ts'

const page = { fields: { 'Cache-Control': 'public, s-maxage=600', xkey: 'product-1' }, body: 'the page' }
const { signal } = new AbortController()

describe.skipIf(!hasRedis)('what operators see of shared pages (skipped where redis-server is not installed)', () => {
  let redis: Redis

  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.stop())

  async function open(): Promise<{ node: Node; app: App; purges: Purges }> {
    const purges = new Purges()
    const node = await openNode(redis.url, purges)
    node.answers(page)
    return { node, purges, app: { sharedPages: () => Promise.resolve(node.shared) } as unknown as App }
  }

  it('are the product, its latency and its eviction in doctor', async () => {
    const { app } = await open()
    // On a busy machine its answers are late, which is another finding.
    const finds = (finding: object) =>
      until(async () => expect(await checkSharedPages(app, signal)).toMatchObject([finding]))
    await finds({ status: 'passed', message: expect.stringMatching(/^Redis \d+\.\d+\.\d+, answers in/) as string })
    await redis.run('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'noeviction')
    await finds({ status: 'warned', remedy: expect.stringContaining('allkeys-lru') as string })
    await redis.run('CONFIG', 'SET', 'maxmemory', '1')
    expect(await checkSharedPages(app, signal)).toMatchObject([
      { status: 'failed', message: expect.stringContaining('OOM') as string },
    ])
    await redis.run('CONFIG', 'SET', 'maxmemory', '0')
  })

  it('is that Redis is unreachable in doctor, and nothing without cache.shared.url', async () => {
    const node = await openNode('redis://:canary@127.0.0.1:1', new Purges())
    const app = { sharedPages: () => Promise.resolve(node.shared) } as unknown as App
    const [finding] = await checkSharedPages(app, signal)
    expect(finding).toMatchObject({ status: 'failed', message: expect.stringContaining('ECONNREFUSED') as string })
    expect(JSON.stringify(finding)).not.toContain('canary')
    expect(await node.shared.statistics()).toEqual({ usable: false, hits: null })
    expect(await checkSharedPages({ sharedPages: () => Promise.resolve(null) } as unknown as App, signal)).toEqual([])
  })

  it('is the state of a page', async () => {
    const { node, purges } = await open()
    await connected(node)
    const look = async (isOrdered = true) =>
      (await node.shared.look(toWanted(`${shopUrl}/`, signal, node.cache.classifying)!, isOrdered)).kind
    expect(await look()).toBe('missing')
    await node.visit('/')
    await until(() => node.shared.counts.written === 1)
    expect(await look()).toBe('page')
    await purges.purge({ kind: 'tags', tags: ['product-1'] })
    expect([await look(), await look(false)]).toEqual(['purged', 'page'])
    node.wait(601)
    expect(await look()).toBe('expired')
    await redis.run('FLUSHALL')
    expect(await look()).toBe('missing')
    expect(toWanted(`${shopUrl}/checkout`, signal, node.cache.classifying)).toBeNull()
  })

  it('are counters and whether Redis is down in the metrics', async () => {
    const { node, app } = await open()
    await connected(node)
    const metrics = await openMetrics({
      app: () => app,
      traffic: new Traffic(),
      stages: createStageCounts(),
      memory: () => ({ bytes: 0, pages: 0 }),
    })
    await node.visit('/counted')
    await until(() => node.shared.counts.written === 1)
    const { text } = await metrics.toText([await metrics.values()])
    expect(text).toContain('pagecache_shared_misses_total 1')
    expect(text).toContain('pagecache_shared_written_total 1')
    expect(text).toContain('pagecache_shared_down{use="read"} 0')
  })
})
