import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { databaseUrl } from '../config/schema.ts'
import { findDaemon } from '../config/running-daemon.ts'
import { PagecacheError } from '../errors.ts'
import type { PostgresPlace, Records } from '../records/records.ts'
import { count, described, success, succeeded } from './fields.ts'
import { defineOperation } from './operation.ts'

export const migrateRecords = defineOperation({
  name: 'records.migrate',
  summary: 'Brings the records to the schema of this version',
  input: z.object({}),
  output: z.object({
    success,
    from: described(count, 'version of the schema before; 0: the database was empty'),
    to: described(count, 'version of the schema now'),
  }),
  async run({ app }) {
    const { before, now } = (await app.records()).schema
    return { ...succeeded, from: before, to: now }
  },
})

const copied = z.object({
  name: z.string(),
  rows: count,
  digest: described(z.string(), 'of its rows, the same in both databases'),
})

export const copyRecords = defineOperation({
  name: 'records.copy',
  summary: 'Copies the records into an empty database of the other kind, and compares them',
  input: z.object({
    to: described(z.string(), 'URL of a PostgreSQL database, or sqlite for the file of this project'),
  }),
  output: z.object({
    success,
    from: described(z.string(), 'the configured database'),
    to: z.string(),
    rows: count,
    tables: z.array(copied),
  }),
  async run({ app, report, signal }, { to }) {
    const place = readTarget(app, to)
    const { openRecords } = await import('../records/open.ts')
    const { copyRecords: copy } = await import('../records/copy/copy.ts')
    assertNoDaemon(app)
    const source = await app.records()
    await assertUnused(source)
    const target = await openRecords({ directory: app.loaded.places.dataDir, postgres: place, now: app.now })
    try {
      const tables = await copy(source, target, {
        assertUnused: () => assertUnused(source),
        onProgress: (progress) => report({ kind: 'progress', progress }),
        signal,
      })
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      return { ...succeeded, from: source.name, to: target.name, rows, tables }
    } finally {
      await target.close()
    }
  },
})

/** @returns null for the file of this project. @throws INVALID_INPUT */
function readTarget({ config }: App, to: string): PostgresPlace | null {
  const { url } = config.records
  if (to === 'sqlite') {
    if (url !== null) return null
    throw new PagecacheError('INVALID_INPUT', 'to: the records are in SQLite already', {
      hint: 'Name a PostgreSQL database: postgres://user:password@host:5432/database',
    })
  }
  const parsed = z.safeParse(databaseUrl(), to)
  if (!parsed.success || parsed.data === null)
    throw new PagecacheError(
      'INVALID_INPUT',
      'to: expected sqlite, or a URL such as postgres://user@host:5432/database',
    )
  if (to === url) throw new PagecacheError('INVALID_INPUT', 'to: this is the database that records.url names')
  return { url: to, listenUrl: null, pool: 2 }
}

function assertNoDaemon({ loaded }: App): void {
  const daemon = findDaemon(loaded.places.dataDir)
  if (daemon !== null) throw inUse(`the daemon (process ${daemon.process.pid}) is running`)
}

/** @throws WRONG_STATE where a worker or another process uses the records */
async function assertUnused(records: Records): Promise<void> {
  const { readStatistics } = await import('../queue/statistics.ts')
  const { workers } = await readStatistics(records.db, Date.now())
  const [worker] = workers
  if (worker !== undefined) throw inUse(`process ${worker.pid} on ${worker.host} works on the queue`)
  const users = await records.countUsers()
  if (users > 0)
    throw inUse(`${records.name} is open in ${users === 1 ? 'another process' : `${users} other processes`}`)
}

function inUse(why: string): PagecacheError {
  return new PagecacheError('WRONG_STATE', `The records are in use: ${why}.`, {
    hint: 'Nothing was changed. Stop all daemons and consumers first, on every machine.',
  })
}
