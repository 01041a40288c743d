import { sql, type CompiledQuery, type RawBuilder } from 'kysely'
import type { RecordsDatabase } from './schema.ts'

/** Rows of one statement, largest first: a list of any length takes few statements, and few statements are prepared. */
const sizes = [128, 64, 32, 16, 8, 4, 2, 1] as const

/** A statement over any number of rows, for hot paths where building it costs as much as running it. */
export interface PreparedRows<Row, Result> {
  /** Resolves to the returned rows. */
  execute(db: RecordsDatabase, rows: readonly Row[]): Promise<Result[]>
}

/**
 * Compiles a Kysely statement once for each of a few numbers of rows and then only changes the values
 * (docs/decisions/0030-events-in-a-thread.md has the measurements).
 *
 * @param columns in the order of the statement's parameters
 * @param build makes the statement from sample rows, with every value as a parameter, row by row
 * @param most most rows of one statement: 1 for an update of one row
 */
export function prepareRows<Row extends object, Result = never>(
  columns: readonly (keyof Row & string)[],
  build: (rows: Row[], db: RecordsDatabase) => { compile(): CompiledQuery<Result> },
  most: (typeof sizes)[number] = sizes[0],
): PreparedRows<Row, Result> {
  const compiled = new Map<number, CompiledQuery<Result>>()
  const sample = Object.fromEntries(columns.map((column) => [column, 0])) as Row

  function statementFor(db: RecordsDatabase, size: number): CompiledQuery<Result> {
    let statement = compiled.get(size)
    if (statement === undefined)
      compiled.set(
        size,
        (statement = build(
          Array.from({ length: size }, () => sample),
          db,
        ).compile()),
      )
    return statement
  }

  return {
    async execute(db, rows) {
      const results: Result[] = []
      let from = 0
      for (const size of sizes.filter((each) => each <= most)) {
        for (; rows.length - from >= size; from += size) {
          const parameters: unknown[] = []
          for (let index = from; index < from + size; index += 1) {
            for (const column of columns) parameters.push(rows[index]![column])
          }
          const { rows: returned } = await db.executeQuery<Result>({ ...statementFor(db, size), parameters })
          results.push(...returned)
        }
      }
      return results
    },
  }
}

/** Compiles a query once whose parameters are all the same value, such as a key. */
export function prepareLookup<Row, Value extends string = string>(
  build: (db: RecordsDatabase, value: Value) => { compile(): CompiledQuery<Row> },
): (db: RecordsDatabase, value: Value) => Promise<Row[]> {
  let compiled: CompiledQuery<Row> | null = null
  return async (db, value) => {
    compiled ??= build(db, '' as Value).compile()
    return (await db.executeQuery<Row>({ ...compiled, parameters: compiled.parameters.map(() => value) })).rows
  }
}

/** A condition: the column contains the text, ignoring case. Wildcards in the text have no meaning. */
export function contains(column: string, part: string): RawBuilder<boolean> {
  const pattern = `%${part.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
}
