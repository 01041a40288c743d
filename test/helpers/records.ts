import { openRecords as open } from '../../src/records/open.ts'
import type { PostgresPlace, Records } from '../../src/records/records.ts'

/** The database with this URL; null, for SQLite, without one. */
export function toPlace(url: string | null | undefined): PostgresPlace | null {
  return url ? { url, listenUrl: null, pool: 4 } : null
}

/** The database of the running test: PostgreSQL in the project `postgres`, otherwise null for SQLite. */
export function testDatabase(): PostgresPlace | null {
  return toPlace(process.env['PAGECACHE_RECORDS_URL'])
}

/** Opens records in the database of the running test. */
export function openRecords(options: Parameters<typeof open>[0]): Promise<Records> {
  return open({ postgres: testDatabase(), ...options })
}
