import { sql } from 'kysely'
import { isPostgres } from '../locks.ts'
import type { RecordsDatabase } from '../schema.ts'

/** The last number that a table has given to a row. */
interface LastNumber {
  name: string
  seq: number
}

/** Reads the last numbers, which rows that were deleted since may have had. */
export async function readNumbers(db: RecordsDatabase): Promise<LastNumber[]> {
  return db.selectFrom('sqlite_sequence').select(['name', 'seq']).where('seq', '>', 0).execute()
}

/** Makes tables number their next rows behind the last numbers, and behind the rows that they have. */
export async function continueNumbers(db: RecordsDatabase, last: readonly LastNumber[]): Promise<void> {
  for (const { name, column } of isPostgres(db) ? await numberedInPostgres(db) : await numberedInSqlite(db)) {
    const largest = sql<{ seq: number | null }>`select max(${sql.ref(column)}) as seq from ${sql.table(name)}`
    const { rows } = await largest.execute(db)
    const seq = Math.max(rows[0]?.seq ?? 0, last.find((each) => each.name === name)?.seq ?? 0)
    if (seq === 0) continue
    if (isPostgres(db)) await sql`select setval(pg_get_serial_sequence(${name}, ${column}), ${seq})`.execute(db)
    else {
      await sql`delete from sqlite_sequence where name = ${name}`.execute(db)
      await sql`insert into sqlite_sequence (name, seq) values (${name}, ${seq})`.execute(db)
    }
  }
}

interface Numbered {
  name: string
  column: string
}

async function numberedInPostgres(db: RecordsDatabase): Promise<Numbered[]> {
  const { rows } = await sql<Numbered>`
    select tables.relname as name, columns.attname as "column"
    from pg_attribute as columns join pg_class as tables on tables.oid = columns.attrelid
    where tables.relnamespace = current_schema()::regnamespace and columns.attidentity <> ''`.execute(db)
  return rows
}

/** Other tables with an integer key number a new row behind the largest one that they have. */
async function numberedInSqlite(db: RecordsDatabase): Promise<Numbered[]> {
  const { rows } = await sql<Numbered>`
    select name, 'id' as "column" from sqlite_master where type = 'table' and sql like '%autoincrement%'`.execute(db)
  return rows
}
