import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The tables of each room; src/records defines them and queries none. */
const tablesOf: Record<string, readonly string[]> = {
  cluster: [
    'cluster_clock',
    'cluster_members',
    'cluster_purges',
    'cluster_questions',
    'cluster_removed',
    'cluster_secrets',
    'cluster_server',
  ],
  auth: ['admin_sessions', 'api_clients', 'signing_keys'],
  notify: ['notified_problems'],
  purge: [
    'invalidations',
    'purges',
    'purge_deliveries',
    'purge_entities',
    'purge_hours',
    'purge_key_hours',
    'purge_pages',
    'purge_tag_hours',
    'purge_tags',
    'purge_urls',
    'reverse_proxy_states',
    'sqlite_sequence',
  ],
  queue: ['queue_messages', 'queue_workers'],
  schedule: ['scheduled_tasks'],
  stages: ['sales_channel', 'vendor_stage', 'vendor_stage_event', 'vendor_stage_rollup', 'vendor_stage_session'],
  traffic: ['traffic_hours', 'traffic_minutes', 'traffic_misses'],
  warmup: ['warmup_batches', 'warmup_failures', 'warmup_live', 'warmup_origins', 'warmup_purged', 'warmup_runs'],
}

describe('each table is used by one room', () => {
  it('lists every table of the schema', async () => {
    const { db, close } = await openRecords({ directory: await tempDir(), now: Date.now })
    const tables = (await db.introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name)
    await close()
    expect(Object.values(tablesOf).flat().toSorted()).toEqual([...tables, 'sqlite_sequence'].toSorted())
  })

  it('queries a table only in its own room', async () => {
    const foreign: string[] = []
    for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
      const room = file.split('/')[1]!
      if (room === 'records') continue
      const code = await readFile(join(root, file), 'utf8')
      for (const [, table] of code.matchAll(/(?:[fF]rom|[iI]nto|[tT]able|[jJ]oin)\(\s*'(\w+)/g)) {
        const owner = Object.keys(tablesOf).find((each) => tablesOf[each]!.includes(table!))
        if (owner !== undefined && owner !== room)
          foreign.push(`${file} queries ${table}, which belongs to src/${owner}`)
      }
    }
    expect(foreign).toEqual([])
  })
})
