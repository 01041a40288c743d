import { expect, it, onTestFinished } from 'vitest'
import { openPurgeCluster } from '../../src/cluster/purge-cluster.ts'
import { RecordsLedger } from '../../src/cluster/records-ledger.ts'
import { removeRefetched } from '../../src/purge/remove-refetched.ts'
import type { Pending } from '../../src/purge/deliver/plan.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openPages, origin, store } from '../stores/pages.ts'

it('removes what was fetched through a proxy before its purge, here and on all other nodes', async () => {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  const { pages } = await openPages()
  for (const name of ['a', 'b', 'c', 'd'])
    await store(pages, name, { url: `${origin}/${name}`, tags: name === 'a' ? ['red'] : [] })
  const purge = (changes: Partial<Pending>): Pending => ({
    ...{ id: 1, kind: 'tag', soft: false, attempts: 0, key: 'red' },
    ...changes,
  })
  const cluster = openPurgeCluster(records.db, await tempDir(), { node: 'here', lease: 1000 })
  await removeRefetched({ pages, cluster }, [
    purge({}),
    purge({ kind: 'url', key: `${origin}/b` }),
    purge({ kind: 'pattern', key: '^/c$' }),
  ])
  const left = pages.list({ limit: 10, offset: 0, sort: 'url' }).items.map(({ url }) => url)
  expect(left).toEqual([`${origin}/d`])
  const { purges } = await new RecordsLedger(records.db).read(0)
  expect(purges.map(({ removals }) => removals)).toEqual([
    [
      { kind: 'pattern', pattern: '^/c$' },
      { kind: 'urls', urls: [`${origin}/b`] },
      { kind: 'tags', tags: ['red'] },
    ],
  ])
  await removeRefetched({ pages, cluster: null }, null)
  expect(pages.list({ limit: 10, offset: 0, sort: 'url' }).items).toEqual([])
})
