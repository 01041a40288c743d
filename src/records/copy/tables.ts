import { sql } from 'kysely'
import { isPostgres } from '../locks.ts'
import type { RecordsDatabase } from '../schema.ts'

/** A table of the records, as its database describes it. */
export interface Table {
  name: string
  columns: string[]
  /** The primary key, in the order of its index. */
  key: string[]
}

/** Lists the tables, each behind those to which its foreign keys refer. */
export async function listTables(db: RecordsDatabase): Promise<Table[]> {
  const [columns, references] = isPostgres(db)
    ? [await columnsOfPostgres(db), await referencesOfPostgres(db)]
    : [await columnsOfSqlite(db), await referencesOfSqlite(db)]
  const tables = new Map<string, Table>()
  for (const { table, name } of columns) {
    const known = tables.get(table)
    if (known === undefined) tables.set(table, { name: table, columns: [name], key: [] })
    else known.columns.push(name)
  }
  for (const { table, name } of columns.filter(({ place }) => place > 0).toSorted((a, b) => a.place - b.place))
    tables.get(table)!.key.push(name)
  return inOrder([...tables.values()], references)
}

interface Column {
  table: string
  name: string
  /** Position in the primary key, from 1; 0 outside of it. */
  place: number
}

interface Reference {
  table: string
  parent: string
}

function inOrder(tables: Table[], references: readonly Reference[]): Table[] {
  const ordered: Table[] = []
  const visit = (table: Table) => {
    if (ordered.includes(table)) return
    const parents = references.filter((each) => each.table === table.name && each.parent !== table.name)
    for (const { parent } of parents) visit(tables.find(({ name }) => name === parent)!)
    ordered.push(table)
  }
  for (const table of tables) visit(table)
  return ordered
}

async function columnsOfSqlite(db: RecordsDatabase): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select tables.name as "table", columns.name as name, columns.pk as place
    from sqlite_master as tables, pragma_table_info(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\'
    order by tables.name, columns.cid`.execute(db)
  return rows
}

async function referencesOfSqlite(db: RecordsDatabase): Promise<Reference[]> {
  const { rows } = await sql<Reference>`
    select tables.name as "table", keys."table" as parent
    from sqlite_master as tables, pragma_foreign_key_list(tables.name) as keys where tables.type = 'table'`.execute(db)
  return rows
}

async function columnsOfPostgres(db: RecordsDatabase): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select tables.relname as "table", columns.attname as name,
      coalesce(array_position(keys.indkey::int2[], columns.attnum) + 1, 0) as place
    from pg_class as tables join pg_attribute as columns on columns.attrelid = tables.oid
    left join pg_index as keys on keys.indrelid = tables.oid and keys.indisprimary
    where tables.relnamespace = current_schema()::regnamespace and tables.relkind = 'r'
      and tables.relname <> 'pagecache_schema' and columns.attnum > 0 and not columns.attisdropped
    order by tables.relname collate "C", columns.attnum`.execute(db)
  return rows
}

async function referencesOfPostgres(db: RecordsDatabase): Promise<Reference[]> {
  const { rows } = await sql<Reference>`
    select tables.relname as "table", parents.relname as parent
    from pg_constraint as keys join pg_class as tables on tables.oid = keys.conrelid
    join pg_class as parents on parents.oid = keys.confrelid
    where keys.contype = 'f' and tables.relnamespace = current_schema()::regnamespace`.execute(db)
  return rows
}
