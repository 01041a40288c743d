import {
  sql,
  SqliteAdapter,
  type AliasedRawBuilder,
  type CompiledQuery,
  type QueryResult,
  type RawBuilder,
} from 'kysely'
import type { RecordsDatabase } from './schema.ts'

/** Rows of one statement, largest first: a list of any length takes few statements, and few statements are prepared. */
const sizes = [128, 64, 32, 16, 8, 4, 2, 1] as const

/** Makes a value once for each kind of database: another configuration may have its records in another one. */
function perDialect<Value>(make: (db: RecordsDatabase) => Value): (db: RecordsDatabase) => Value {
  const made = new Map<unknown, Value>()
  return (db) => {
    const dialect = db.getExecutor().adapter.constructor
    let value = made.get(dialect)
    if (value === undefined) made.set(dialect, (value = make(db)))
    return value
  }
}

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
 */
export function prepareRows<Row extends object, Result = never>(
  columns: readonly (keyof Row & string)[],
  build: (rows: Row[], db: RecordsDatabase) => { compile(): CompiledQuery<Result> },
): PreparedRows<Row, Result> {
  const compiled = perDialect(() => new Map<number, CompiledQuery<Result>>())
  const sample = Object.fromEntries(columns.map((column) => [column, 0])) as Row

  function statementFor(db: RecordsDatabase, size: number): CompiledQuery<Result> {
    const statements = compiled(db)
    let statement = statements.get(size)
    if (statement === undefined)
      statements.set(
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
      for (const size of sizes) {
        for (; rows.length - from >= size; from += size) {
          // Of its final length: an array that grows is copied again and again.
          const parameters: unknown[] = []
          parameters.length = size * columns.length
          let place = 0
          for (let index = from; index < from + size; index += 1) {
            for (const column of columns) parameters[place++] = rows[index]![column]
          }
          const { rows: returned } = await db.executeQuery<Result>({ ...statementFor(db, size), parameters })
          results.push(...returned)
        }
      }
      return results
    },
  }
}

/** A statement with named values, compiled at its first use. */
export type Prepared<Values, Row> = (db: RecordsDatabase, values: Values) => Promise<QueryResult<Row>>

/** Stands for a value while a statement is compiled. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/**
 * Compiles a statement once and then only changes its values, for hot paths where building it costs more than running it.
 *
 * @param build makes the statement; it may pass on the values, but not look at them or spread them
 */
export function prepare<Values extends object, Row = never>(
  build: (db: RecordsDatabase, values: Values) => { compile(): CompiledQuery<Row> },
): Prepared<Values, Row> {
  const placeholders = new Proxy({} as Values, { get: (_, name) => new Placeholder(String(name)) })
  const compiled = perDialect((db) => withStablePlan(db, build(db, placeholders).compile()))
  return (db, values) => {
    const statement = compiled(db)
    const parameters = statement.parameters.map((each) =>
      each instanceof Placeholder ? values[each.name as keyof Values] : each,
    )
    return db.executeQuery<Row>({ ...statement, parameters })
  }
}

/**
 * Keeps SQLite from compiling a statement again at each execution. It does so, in builds with STAT4, where a parameter is compared with
 * an indexed column (https://sqlite.org/c3ref/prepare.html), which takes longer than most statements. A unary plus changes no value, but
 * the planner does not look at what is behind it.
 */
function withStablePlan<Row>(db: RecordsDatabase, query: CompiledQuery<Row>): CompiledQuery<Row> {
  if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return query
  const parts = query.sql.split('?')
  if (parts.length !== query.parameters.length + 1) throw new Error(`A literal contains a question mark: ${query.sql}`)
  return { ...query, sql: parts.join('+?') }
}

/**
 * Rows as a table `given` of a statement. Their values have types, because PostgreSQL takes parameters without one for texts.
 *
 * @param types by column, in the order of the statement's parameters
 */
export function givenRows<Row extends object>(
  rows: readonly Row[],
  types: { readonly [column in keyof Row & string]: 'bigint' | 'double precision' | 'text' },
): AliasedRawBuilder<Row, 'given'> {
  const columns = Object.entries(types) as [keyof Row & string, string][]
  const names = columns.map(([column], index) => sql`${sql.ref(`column${index + 1}`)} as ${sql.ref(column)}`)
  const values = rows.map((row) => {
    const cast = columns.map(([column, type]) => sql`cast(${row[column]} as ${sql.raw(type)})`)
    return sql`(${sql.join(cast)})`
  })
  return sql<Row>`(select ${sql.join(names)} from (values ${sql.join(values)}) as listed)`.as('given')
}

/** A condition: the column contains the text, ignoring the case of ASCII letters, as `lower` does in both databases. Wildcards have no meaning. */
export function contains(column: string, part: string): RawBuilder<boolean> {
  const small = part.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  const pattern = `%${small.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
}
