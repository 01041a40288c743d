import { sql, type RawBuilder } from 'kysely'

/** Whether a column contains a text, in either case; the text is taken as it is, without wildcards. */
export function contains(column: string, part: string): RawBuilder<boolean> {
  const pattern = `%${part.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
}
