import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { migrations } from '../src/records/migrations/list.ts'
import { openRecords } from '../src/records/open.ts'

/** Generates the source of `src/records/migrations/new-schema.ts`: the schema of an SQLite file after all migrations. */
export async function newSchemaFile(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'pagecache-schema-'))
  try {
    const records = await openRecords({ directory, now: () => 0, migrations: [...migrations] })
    await records.close()
    const statements = statementsOf(records.name).join(';\n')
    return `import type { NewSchema } from '../records-file.ts'

/** Generated from the migrations by \`npm run snapshot\`, because running them takes a tenth of a daemon's first start. */
export const newSchema: NewSchema = {
  version: ${migrations.length},
  statements: \`
${statements}\`,
}
`
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The statements that create the schema of a database, in their original order. */
export function statementsOf(file: string): string[] {
  const database = new Database(file, { readonly: true })
  try {
    const own = "sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    return database.prepare<[], string>(`SELECT sql FROM sqlite_schema WHERE ${own} ORDER BY rowid`).pluck().all()
  } finally {
    database.close()
  }
}
