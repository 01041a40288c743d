import { sql } from 'kysely'
import { insertRows } from '../../../src/records/copy/rows.ts'
import { listTables, type Table } from '../../../src/records/copy/tables.ts'
import type { Records } from '../../../src/records/records.ts'

/** Fills each table with few rows, and one with many. Some have nulls; their keys and references are alike. */
export async function fill({ db }: Records, few: number, many = few): Promise<Table[]> {
  const tables = await listTables(db)
  const { rows: columns } = await sql<{ table: string; name: string; type: string; required: number }>`
    select tables.name as "table", columns.name as name, lower(columns.type) as type, columns."notnull" as required
    from sqlite_master as tables, pragma_table_info(tables.name) as columns where tables.type = 'table'`.execute(db)
  for (const table of tables) {
    const count = table.name === 'traffic_misses' ? many : few
    const own = columns.filter((column) => column.table === table.name)
    const value = (index: number, { name, type, required }: (typeof own)[number]) => {
      if (name === 'event_type') return 'close'
      if (required === 0 && index % 3 === 0) return null
      if (type === 'text') return `${index} ä\u{1f600}'"\\`
      return type === 'real' ? index * 0.1 : index
    }
    const rows = Array.from({ length: count }, (_, index) =>
      Object.fromEntries(own.map((column) => [column.name, value(index + 1, column)])),
    )
    for (let from = 0; from < count; from += 100) await insertRows(db, table, rows.slice(from, from + 100))
  }
  return tables
}
