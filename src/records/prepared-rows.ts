import type { CompiledQuery } from 'kysely'
import type { RecordsDatabase } from './schema.ts'

/** Rows of one statement, the largest first: a list of any length takes few statements, and few texts are ever prepared. */
const sizes = [128, 64, 32, 16, 8, 4, 2, 1] as const

/** A statement over any number of rows, for paths on which building it anew would cost as much as running it. */
export interface PreparedRows<Row> {
  execute(db: RecordsDatabase, rows: readonly Row[]): Promise<void>
}

/**
 * Lets Kysely compile a statement once for each of a few numbers of rows; after that only the values are new
 * (docs/decisions/0030-events-in-a-thread.md has what that is worth).
 *
 * @param columns in the order in which the statement names them
 * @param build makes the statement from sample rows, with every value as a parameter, row by row
 */
export function prepareRows<Row extends object>(
  columns: readonly (keyof Row & string)[],
  build: (rows: Row[]) => { compile(): CompiledQuery },
): PreparedRows<Row> {
  const compiled = new Map<number, CompiledQuery>()
  const sample = Object.fromEntries(columns.map((column) => [column, 0])) as Row

  function statementFor(size: number): CompiledQuery {
    let statement = compiled.get(size)
    if (statement === undefined) compiled.set(size, (statement = build(Array.from({ length: size }, () => sample)).compile()))
    return statement
  }

  return {
    async execute(db, rows) {
      let from = 0
      for (const size of sizes) {
        for (; rows.length - from >= size; from += size) {
          const parameters: unknown[] = []
          for (let index = from; index < from + size; index += 1) {
            for (const column of columns) parameters.push(rows[index]![column])
          }
          await db.executeQuery({ ...statementFor(size), parameters })
        }
      }
    },
  }
}

/** The same for a query of one value, such as a key: every parameter of the query is that value. */
export function prepareLookup<Row, Value extends string = string>(build: (db: RecordsDatabase, value: Value) => { compile(): CompiledQuery<Row> }): (db: RecordsDatabase, value: Value) => Promise<Row[]> {
  let compiled: CompiledQuery<Row> | null = null
  return async (db, value) => {
    compiled ??= build(db, '' as Value).compile()
    return (await db.executeQuery<Row>({ ...compiled, parameters: compiled.parameters.map(() => value) })).rows
  }
}
