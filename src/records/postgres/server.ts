import { sql, type Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { RecordsSchema } from '../schema.ts'
import { applicationName } from './connect.ts'
import { readOnly, toPostgresError, unusable } from './errors.ts'
import { repeat } from './repeat.ts'

/** The oldest version that is supported, as in `server_version_num`. */
const minVersion = 130_000

/** Counts the other processes by the names of their connections. */
export async function countUsers(db: Kysely<RecordsSchema>): Promise<number> {
  const { rows } = await sql<{ users: number }>`
    select count(distinct application_name) as users from pg_stat_activity
    where datname = current_database() and application_name like 'pagecache %' and application_name <> ${applicationName}`.execute(
    db,
  )
  return rows[0]!.users
}

interface Settings {
  version: number
  encoding: string
  isReadOnly: boolean
}

/** @throws STORE_FOREIGN, STORE_UNREACHABLE */
export async function assertUsable(pool: Pool, server: string): Promise<void> {
  const { version, encoding, isReadOnly } = await readSettings(pool, server)
  if (version < minVersion)
    throw unusable(server, `is PostgreSQL ${Math.floor(version / 10_000)}; version 13 or later is required`)
  if (encoding !== 'UTF8') throw unusable(server, `has the encoding ${encoding}; UTF8 is required`)
  if (isReadOnly) throw readOnly(server)
}

async function readSettings(pool: Pool, server: string): Promise<Settings> {
  return repeat(async () => {
    try {
      const { rows } = await pool.query<Settings>(
        `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
          current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
      )
      return rows[0]!
    } catch (error) {
      throw toPostgresError(error, server)
    }
  })
}

/** Removes deleted and old versions of events from their table. */
export async function vacuum(pool: Pool): Promise<boolean> {
  return pool.query('vacuum vendor_stage_event').then(
    () => true,
    () => false,
  )
}
