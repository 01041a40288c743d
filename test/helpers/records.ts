import { openRecords as open } from '../../src/records/open.ts'
import type { PostgresPlace, Records } from '../../src/records/records.ts'

/** The database of the running test: PostgreSQL in the project `postgres`, otherwise null for SQLite. */
export function testDatabase(): PostgresPlace | null {
  const url = process.env['PAGECACHE_RECORDS_URL']
  return url === undefined ? null : { url, listenUrl: null, pool: 4 }
}

/** Opens records in the database of the running test. */
export function openRecords(options: Parameters<typeof open>[0]): Promise<Records> {
  return open({ postgres: testDatabase(), ...options })
}
