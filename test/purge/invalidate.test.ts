import { describe, expect, it } from 'vitest'
import type { Invalidation, Target } from '../../src/purge/invalidation.ts'
import { openPurges } from './purges.ts'
import { store } from '../stores/pages.ts'

describe('an invalidation', () => {
  it('is logged, removes pages here, and dispatches a message for each reverse proxy', async () => {
    const { purging, pages, records } = await openPurges({ proxies: ['varnish-1', 'varnish-2'] })
    await store(pages, 'a', { tags: ['x'] })
    await store(pages, 'b', { tags: ['x', 'y'] })
    await store(pages, 'c', { tags: ['z'] })
    const { invalidationId, pagesRemoved } = await purging.invalidate(of({ scope: 'tags', tags: ['y', 'x', 'x'] }))
    expect(pagesRemoved).toBe(2)
    expect(invalidationId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    expect(pages.counters().products.count).toBe(1)
    const purges = await records.db
      .selectFrom('purges')
      .select(['kind', 'pages_removed', 'response_time'])
      .orderBy('id')
      .execute()
    expect(purges).toEqual([
      { kind: 'tag', pages_removed: 1, response_time: null },
      { kind: 'tag', pages_removed: 1, response_time: null },
    ])
    const deliveries = await records.db.selectFrom('purge_deliveries').select(['proxy', 'status']).execute()
    expect(deliveries).toHaveLength(4)
    const messages = await records.db.selectFrom('queue_messages').select(['type', 'group', 'key']).execute()
    expect(messages).toEqual(
      ['varnish-1', 'varnish-2'].map((name) => ({
        type: 'purge.deliver',
        group: `proxy:${name}`,
        key: `proxy:${name}`,
      })),
    )
  })
})

function of(...targets: Target[]): Invalidation {
  return { targets, soft: false, source: 'cli', actor: null }
}
