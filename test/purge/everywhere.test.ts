import { expect, it } from 'vitest'
import type { PurgeCluster } from '../../src/cluster/purge-cluster.ts'
import { confirmEverywhere } from '../../src/purge/everywhere.ts'
import type { Intent } from '../../src/purge/intent.ts'

it('counts the pages of a node although a command beside it, with pages of its own, has the same name', async () => {
  const intent = {
    groups: [{ selection: { kind: 'tags', tags: ['a'] }, soft: false, keys: [0] }],
    clock: { number: 7, identity: '' },
  } as unknown as Intent
  const cluster = {
    node: 'one',
    confirm: async () => ({ live: ['one'], isAlone: false, unconfirmed: [] }),
    removed: async () => [{ node: 'one', number: 7, counts: [3] }],
  } as unknown as PurgeCluster
  const [done] = await confirmEverywhere({ cluster }, [{ intent, counts: [1], localTime: 0 }])
  expect(done).toMatchObject({ everywhere: [4], nodes: [{ name: 'one', pagesRemoved: 4 }] })
})
