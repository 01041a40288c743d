import { sql, type RawBuilder } from 'kysely'

/** A condition: the column contains the text, ignoring case. Wildcards in the text have no meaning. */
export function contains(column: string, part: string): RawBuilder<boolean> {
  const pattern = `%${part.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
}
