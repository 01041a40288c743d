import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { testDatabase } from './records.ts'

/** Locks the records of the running test as another process would that writes for long. Returns a function that ends it. */
export async function lockRecords(directory: string): Promise<() => Promise<void>> {
  const postgres = testDatabase()
  if (postgres === null) {
    const other = new Database(join(directory, 'records.sqlite'))
    other.exec('BEGIN IMMEDIATE')
    return async () => {
      other.exec('ROLLBACK')
      other.close()
    }
  }
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query('begin; lock table invalidations, purges, queue_messages, queue_workers in share mode')
  return () => client.end()
}
