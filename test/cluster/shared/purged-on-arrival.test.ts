import { describe, expect, it } from 'vitest'
import type { Reply } from '../../cache/scripted-origin.ts'
import { isHit } from '../../cache/site.ts'
import { hasRedis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'
import { useNodes, written, type Node } from './nodes.ts'

const fields = { 'Cache-Control': 'max-age=10, stale-if-error=600', xkey: 'product-1' }

describe.skipIf(!hasRedis)(
  'a page of another node that is purged while it arrives (skipped where redis-server is not installed)',
  () => {
    const nodes = useNodes()

    /** Two nodes, of which one has shared a page. */
    async function open(): Promise<[Node, Node]> {
      const [a, b] = (await nodes.open(2)) as [Node, Node]
      a.answers({ fields, body: 'old' })
      await a.visit('/')
      await written(a)
      return [a, b]
    }

    /** Purges the shared page once a node has got it. The node's shop answers when it is told to. */
    function purgeOnArrival({ shared, answers, origin }: Node) {
      const obtain = shared.obtain.bind(shared)
      shared.obtain = async (...wanted) => {
        const obtained = await obtain(...wanted)
        if (obtained.kind === 'page') await nodes.purges.purge({ kind: 'tags', tags: ['product-1'] })
        return obtained
      }
      const { promise, resolve: answer } = Promise.withResolvers<Reply>()
      answers(() => promise)
      return { answer, asked: () => until(() => origin.requests.length > 0) }
    }

    it('is replaced by one from the shop, which is stored', async () => {
      const [, node] = await open()
      purgeOnArrival(node).answer({ fields, body: 'new' })
      const first = await node.visit('/')
      expect(first.text).toBe('new')
      expect(first.field('cache-status')).toMatch(/fwd=miss.*stored/)
      const second = await node.visit('/')
      expect(second.text).toBe('new')
      expect(isHit(second)).toBe(true)
      expect(node.origin.requests).toHaveLength(1)
    })

    it('is replaced by one fetch for all visitors, whether they came before or after the purge', async () => {
      const [, node] = await open()
      const { answer, asked } = purgeOnArrival(node)
      const early = [node.visit('/'), node.visit('/')]
      await asked()
      const late = [node.visit('/'), node.visit('/')]
      answer({ fields, body: 'new' })
      const answers = await Promise.all([...early, ...late])
      expect(answers.map(({ text }) => text)).toEqual(['new', 'new', 'new', 'new'])
      expect(node.origin.requests).toHaveLength(1)
    })

    it('leaves no stale page to visitors who come after the purge when the shop fails', async () => {
      const [other, node] = await open()
      expect((await node.visit('/')).text).toBe('old')
      for (const { wait } of [other, node]) wait(20)
      await other.visit('/')
      await written(other, 2)
      const { answer, asked } = purgeOnArrival(node)
      const early = node.visit('/')
      await asked()
      const late = node.visit('/')
      answer({ status: 503, body: 'sorry' })
      await early
      expect(await late).toMatchObject({ status: 503, text: 'sorry' })
    })
  },
)
