import * as z from 'zod/mini'
import { configSchema } from './schema.ts'
import { defaultOf, jsonForms } from './value.ts'

/** A part of a JSON Schema. */
export interface JsonSchema {
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  description?: string
  [keyword: string]: unknown
}

/** JSON Schema of pagecache.yaml, for editors: it knows the keys and the form of each value. The daemon's own checks are stricter. */
export function configJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const form = jsonForms.get(zodSchema)?.form
      const initial = defaultOf(zodSchema)
      if (form !== undefined) Object.assign(jsonSchema, initial !== undefined && { default: initial }, form)
      // A section whose lines are all commented out is null for a YAML parser.
      else if (jsonSchema.type === 'object' || jsonSchema.type === 'array')
        Object.assign(jsonSchema, { type: [jsonSchema.type, 'null'] })
    },
  }) as JsonSchema
  return { ...schema, title: 'Configuration of pagecache' }
}
