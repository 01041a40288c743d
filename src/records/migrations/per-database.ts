import { sql, type Kysely } from 'kysely'
import { isPostgres } from '../locks.ts'

/** The parts of the schema that each database has in its own language: triggers, and the numbers of rows. */

const message = 'an event is never changed; only its customer may be forgotten'

const columns = ['id', 'popup_id', 'event_type', 'sales_channel_id', 'page_type', 'request_url', 'created_at']

/** Refuses every UPDATE except one that sets `customer_id` to null. */
export async function refuseUpdates<T>(db: Kysely<T>): Promise<void> {
  if (isPostgres(db)) {
    await createFunction(db)
    const unchanged = columns.map((column) => `new.${column} is not distinct from old.${column}`).join(' and ')
    await sql
      .raw(
        `create trigger vendor_stage_event_append_only before update on vendor_stage_event for each row
        when (not (new.customer_id is null and old.customer_id is not null and ${unchanged}))
        execute function vendor_stage_event_refuse()`,
      )
      .execute(db)
    return
  }
  await sql`
      create trigger vendor_stage_event_append_only before update on vendor_stage_event
      when not (new.customer_id is null and old.customer_id is not null
        and new.id is old.id and new.popup_id is old.popup_id and new.event_type is old.event_type
        and new.sales_channel_id is old.sales_channel_id and new.page_type is old.page_type
        and new.request_url is old.request_url and new.created_at is old.created_at)
      begin select raise(abort, 'an event is never changed; only its customer may be forgotten'); end`.execute(db)
}

/** Refuses an INSERT of an existing event. PostgreSQL has no statement that would replace one without an UPDATE. */
export async function refuseReplacements<T>(db: Kysely<T>): Promise<void> {
  if (isPostgres(db)) return
  await sql`
      create trigger vendor_stage_event_insert_only before insert on vendor_stage_event
      when exists (select 1 from vendor_stage_event where id = new.id)
      begin select raise(abort, 'an event is never changed; only its customer may be forgotten'); end`.execute(db)
}

/** SQLite lists the last number of each numbered table; PostgreSQL also counts numbers of transactions that were rolled back. */
export async function listLastNumbers<T>(db: Kysely<T>): Promise<void> {
  if (!isPostgres(db)) return
  await sql`
      create view sqlite_sequence as select regexp_replace(sequencename, '_id_seq$', '') as name, coalesce(last_value, 0) as seq
      from pg_sequences where schemaname = current_schema()`.execute(db)
}

async function createFunction<T>(db: Kysely<T>): Promise<void> {
  await sql
    .raw(
      `create function vendor_stage_event_refuse() returns trigger language plpgsql as $$
      begin raise exception '${message}'; end $$`,
    )
    .execute(db)
}

/**
 * A view that identifies the server, the history of its data, and the database: a standby that is promoted begins another timeline.
 * SQLite has one machine and needs none of them.
 */
export async function describeServer<T>(db: Kysely<T>): Promise<void> {
  await (
    isPostgres(db)
      ? sql`
      create view cluster_server as select
        system_identifier::text || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
          || '.' || (select oid from pg_database where datname = current_database()) as identity,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as now
      from pg_control_system()`
      : sql`create view cluster_server as select 'sqlite' as identity, cast(unixepoch('subsec') * 1000 as integer) as now`
  ).execute(db)
}

/**
 * Also tells a database apart from a dump of it that was restored in its place, where the tables have other numbers. Nodes that run
 * meanwhile find another database and remove their pages.
 */
export async function describeTables<T>(db: Kysely<T>): Promise<void> {
  if (!isPostgres(db)) return
  await sql`
      create or replace view cluster_server as select
        system_identifier::text || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
          || '.' || (select oid from pg_database where datname = current_database())
          || '.' || 'cluster_clock'::regclass::oid as identity,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as now
      from pg_control_system()`.execute(db)
}
