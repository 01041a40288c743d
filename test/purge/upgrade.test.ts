import { expect, it, onTestFinished } from 'vitest'
import { readUndelivered } from '../../src/purge/deliver/rows.ts'
import { clearPurges } from '../../src/purge/log/prune.ts'
import { readBacklogs } from '../../src/purge/log/statistics.ts'
import { deliveriesApart } from '../../src/records/migrations/0011-deliveries-apart.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import { openRecords } from '../helpers/records.ts'
import { sql } from 'kysely'
import { tempDir } from '../helpers/temp-dir.ts'

const at = 1_800_000_000_000
const hour = Math.floor(at / 3_600_000)

/** Records of an older version, whose deliveries read their keys from the log. */
async function writtenBefore(): Promise<string> {
  const directory = await tempDir()
  const records = await openRecords({
    directory,
    now: () => at,
    migrations: migrations.slice(0, migrations.indexOf(deliveriesApart)),
  })
  for (const statement of [
    `insert into purge_urls (id, url, purges, last_purged_at) values (1, 'http://shop.example/a', 1, ${at})`,
    `insert into purge_tags (id, tag, purges, last_hour, window_count) values (1, 'product-1', 3, ${hour}, 2)`,
    `insert into purge_tag_hours (tag_id, hour, purges) values (1, ${hour - 24}, 1), (1, ${hour}, 2)`,
    `insert into purges (id, invalidation_id, created_at, source, kind, url_id, tag_id, entity_id, value, soft) values
      (1, 1, ${at}, 'cli', 'url', 1, null, null, null, 0), (2, 1, ${at + 1}, 'cli', 'tag', null, 1, null, null, 1),
      (3, 2, ${at + 2}, 'cli', 'entity', null, 1, null, null, 0), (4, 2, ${at + 3}, 'cli', 'type', null, null, null, 'products', 0),
      (5, 3, ${at + 4}, 'cli', 'pattern', null, null, null, '/x.*', 0), (6, 4, ${at + 5}, 'cli', 'all', null, null, null, null, 0)`,
    `insert into purge_deliveries (purge_id, proxy, status, attempts) values
      (1, 'a', 'pending', 2), (2, 'a', 'pending', 0), (3, 'a', 'pending', 0), (4, 'a', 'pending', 0), (5, 'a', 'pending', 0), (6, 'a', 'pending', 0),
      (1, 'b', 'delivered', 1), (2, 'b', 'failed', 7)`,
  ]) {
    await sql.raw(statement).execute(records.db)
  }
  await records.close()
  return directory
}

it('deliveries pending before an upgrade are delivered after it, even after the log is cleared', async () => {
  const records = await openRecords({ directory: await writtenBefore(), now: () => at })
  onTestFinished(() => records.close())
  const waiting = [
    { id: 1, kind: 'url', key: 'http://shop.example/a', soft: false, attempts: 2 },
    { id: 2, kind: 'tag', key: 'product-1', soft: true, attempts: 0 },
    { id: 3, kind: 'entity', key: 'product-1', soft: false, attempts: 0 },
    { id: 4, kind: 'type', key: 'products', soft: false, attempts: 0 },
    { id: 5, kind: 'pattern', key: '/x.*', soft: false, attempts: 0 },
    { id: 6, kind: 'all', key: null, soft: false, attempts: 0 },
  ]
  expect(await readUndelivered(records.db, 'a', 'pending', 10)).toEqual(waiting)
  await clearPurges(records)
  expect(await readUndelivered(records.db, 'a', 'pending', 10)).toEqual(waiting)
  expect(await readUndelivered(records.db, 'b', 'failed', 10)).toEqual([{ ...waiting[1], attempts: 7 }])
  expect(await readBacklogs(records.db, ['a'])).toMatchObject([
    { name: 'a', pending: 6, oldestPending: new Date(at).toISOString() },
    { name: 'b', failed: 1 },
  ])
})
