import { sql } from 'kysely'
import manifest from '../../../package.json' with { type: 'json' }
import type { SchemaVersion } from '../migrate.ts'

/** Number of the lock that a migration holds ("pgcr"). */
const lock = 0x70_67_63_72

/** The version of the schema, and of the pagecache that wrote it, in a table of one row. Its first form had no column for the latter. */
export const postgresVersion: SchemaVersion = {
  async read(db) {
    const found = await sql<{ name: string | null }>`select to_regclass('pagecache_schema')::text as name`.execute(db)
    if (found.rows[0]!.name === null) return 0
    const { rows } = await sql<{ version: number }>`select version from pagecache_schema`.execute(db)
    return rows[0]?.version ?? 0
  },
  async lock(transaction) {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(transaction)
  },
  async write(transaction, version) {
    await sql`create table if not exists pagecache_schema (version bigint not null)`.execute(transaction)
    await sql`alter table pagecache_schema add column if not exists writer text`.execute(transaction)
    await sql`delete from pagecache_schema`.execute(transaction)
    await sql`insert into pagecache_schema (version, writer) values (${version}, ${manifest.version})`.execute(
      transaction,
    )
  },
  async readWriter(db) {
    const { rows } = await sql<{ writer: string | null }>`
      select to_jsonb(pagecache_schema) ->> 'writer' as writer from pagecache_schema`.execute(db)
    return rows[0]?.writer ?? null
  },
}
