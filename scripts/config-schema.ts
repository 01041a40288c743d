import { configJsonSchema, type JsonSchema } from '../src/config/json-schema.ts'

/** Generates the JSON Schema of pagecache.yaml, with the meaning of each key from docs/configuration.md. */
export function configSchemaFile(documentation: string): JsonSchema {
  const schema = configJsonSchema()
  for (const [heading, text] of sectionsOf(documentation)) {
    const section = schema.properties?.[heading]
    if (section === undefined) continue
    const [first = ''] = text.split('\n')
    if (first !== '' && !first.startsWith('|')) section.description ??= plain(first)
    for (const [key, meaning] of rowsOf(text)) {
      const target = key === heading ? section : find(section.items ?? section, key.split('.'))
      if (target !== undefined) target.description ??= plain(meaning)
    }
  }
  return schema
}

/** The sections of a document by their headings. */
function sectionsOf(text: string): [heading: string, text: string][] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0]!.trim(), section.slice(section.indexOf('\n') + 1).trim()])
}

/** Key and meaning of each row of a table: the first and the last cell. */
function rowsOf(text: string): [key: string, meaning: string][] {
  return [...text.matchAll(/^\| `([\w.]+)` \|(.*)\|$/gm)].map(([, key, cells]) => [
    key!,
    cells!
      .split(/(?<!\\)\|/)
      .at(-1)!
      .trim(),
  ])
}

function find(schema: JsonSchema | undefined, path: readonly string[]): JsonSchema | undefined {
  const [key, ...rest] = path
  return key === undefined ? schema : find(schema?.properties?.[key], rest)
}

/** Markdown as plain text. */
function plain(text: string): string {
  return text
    .replaceAll(/ ?\(`PAGECACHE_\w+`\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`\\]/g, '')
}
