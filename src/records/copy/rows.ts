import { createHash } from 'node:crypto'
import { CompiledQuery, sql } from 'kysely'
import { isPostgres } from '../locks.ts'
import { storable } from '../postgres/driver.ts'
import type { RecordsDatabase } from '../schema.ts'
import type { Table } from './tables.ts'

export type Row = Record<string, unknown>

/** Values of one statement; SQLite and PostgreSQL allow at least 32,766. */
const maxValues = 8000
/** Rows of one statement: a warmup's row may have 100 kB. */
const maxRows = 200

/** Reads a table in pages, in the order of its primary key. */
export async function* readPages(db: RecordsDatabase, { name, columns, key }: Table): AsyncGenerator<Row[]> {
  const limit = Math.min(maxRows, Math.floor(maxValues / columns.length))
  const list = (names: readonly string[]) => sql.join(names.map((each) => sql.ref(each)))
  let last: Row | null = null
  for (;;) {
    const after: ReturnType<typeof sql> =
      last === null ? sql`` : sql`where (${list(key)}) > (${sql.join(key.map((each) => last![each]))})`
    const query = sql<Row>`select ${list(columns)} from ${sql.table(name)} ${after} order by ${list(key)} limit ${limit}`
    const { rows }: { rows: Row[] } = await query.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    last = rows.at(-1)!
  }
}

/** Inserts rows. The statement is put together here, because building it of thousands of nodes takes longer than running it. */
export async function insertRows(db: RecordsDatabase, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  const isNumbered = isPostgres(db)
  let count = 0
  const placeholder = () => (isNumbered ? `$${(count += 1)}` : '?')
  const values = rows.map(() => `(${columns.map(placeholder).join()})`)
  const names = columns.map((column) => `"${column}"`).join()
  const parameters = rows.flatMap((row) => columns.map((column) => row[column]))
  const query = CompiledQuery.raw(`insert into "${name}" (${names}) values ${values.join()}`, parameters)
  await db.executeQuery(query)
}

/** The number and a digest of the rows of a table, whatever their order. NUL characters count as what PostgreSQL stores instead. */
export class Contents {
  rows = 0
  readonly #sum = Buffer.alloc(32)
  readonly #columns: readonly string[]

  constructor({ columns }: Table) {
    this.#columns = columns.toSorted()
  }

  add(rows: readonly Row[]): void {
    this.rows += rows.length
    for (const row of rows) {
      const text = JSON.stringify(this.#columns.map((column) => storable(row[column])))
      this.#plus(createHash('sha256').update(text).digest())
    }
  }

  /** Adds, where XOR would let two equal rows cancel each other. */
  #plus(digest: Buffer): void {
    let carry = 0
    for (let index = 0; index < digest.length; index += 1) {
      carry += this.#sum[index]! + digest[index]!
      this.#sum[index] = carry & 0xff
      carry >>= 8
    }
  }

  get digest(): string {
    return this.#sum.toString('hex')
  }
}
