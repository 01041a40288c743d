import type { PostgresPlace } from '../../src/records/records.ts'

/** Where a benchmark has its records; null: SQLite. */
export function toPlace(url: string | null): PostgresPlace | null {
  return url === null ? null : { url, listenUrl: null, pool: 4 }
}
