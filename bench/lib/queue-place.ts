import type { PostgresPlace } from '../../src/records/records.ts'

/** Where the benchmark of the queue has its records; null: SQLite. */
export function toPlace(url: string | null): PostgresPlace | null {
  return url === null ? null : { url, listenUrl: null, pool: 4 }
}
