import type { KyselyPlugin } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { thisProcess } from '../../src/lib/process-identity.ts'
import { listRecent } from '../../src/purge/log/purge-log.ts'
import { openPurging } from '../../src/purge/purging.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openPurges } from './purges.ts'

it('records no purge twice that another attempt has recorded since the unfinished ones were listed', async () => {
  const { purging, pages, records } = await openPurges()
  await purging.close()
  const keys = ['a', 'b', 'c'].map((tag) => ({ kind: 'tag', tag, entity: null }))
  await records.db
    .insertInto('invalidations')
    .values({
      created_at: Date.now(),
      source: 'cli',
      actor: null,
      scope: 'tags',
      value: 'a, b, c',
      soft: 0,
      intent: JSON.stringify(keys),
      owner: null,
    })
    .execute()
  let isListed = false
  const attempt: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (isListed || !result.rows.some((row) => 'intent' in row)) return result
      isListed = true
      await records.db.updateTable('invalidations').set({ recorded: '[1,2]' }).execute()
      return result
    },
  }
  const again = await openPurging({
    records: { ...records, db: records.db.withPlugin(attempt) },
    pages,
    queue: openQueue(records, Date.now),
    now: Date.now,
    owner: thisProcess(),
    proxies: [],
    followUp: null,
    budget: null,
    clearDirectory: async () => 0,
  })
  onTestFinished(() => again.close())
  expect((await listRecent(records.db, { limit: 9, offset: 0 })).items).toMatchObject([{ tag: 'c' }])
})
