import type * as z from 'zod/mini'
import type { Operation, Schema } from './operation.ts'

/**
 * Converts the fields of a query string or a path to an operation's input. Text is converted strictly where the input declares a
 * number or a boolean (`5`, `true`); validation rejects anything else. A repeated field becomes a list.
 */
export function fromQuery(
  operation: Pick<Operation, 'input'>,
  query: Iterable<readonly [name: string, value: string]> | null,
): Record<string, unknown> {
  if (query === null) return {}
  const shape = shapeOf(operation.input)
  const texts = Map.groupBy(query, ([name]) => name)
  // Without a prototype, so that `__proto__` is an ordinary name.
  const input: Record<string, unknown> = Object.create(null)
  for (const [name, pairs] of texts) {
    const schema = Object.hasOwn(shape, name) ? bare(shape[name]!) : null
    const values = pairs.map(([, value]) =>
      schema === null
        ? value
        : read(schema._zod.def.type === 'array' ? bare((schema as z.core.$ZodArray)._zod.def.element) : schema, value),
    )
    input[name] = schema?._zod.def.type === 'array' || values.length > 1 ? values : values[0]
  }
  return input
}

/** Names of the input's fields. */
export function fieldsOf(schema: Schema): string[] {
  return Object.keys(shapeOf(schema))
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> {
  const object = bare(schema)
  return object._zod.def.type === 'object' ? (object as z.core.$ZodObject)._zod.def.shape : {}
}

function read(schema: Schema, text: string): unknown {
  const { type } = schema._zod.def
  if ((type === 'number' || type === 'int') && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function bare(schema: Schema): Schema {
  const { type } = schema._zod.def
  if (type === 'optional' || type === 'nullable' || type === 'default' || type === 'prefault' || type === 'readonly') {
    return bare((schema as z.core.$ZodOptional)._zod.def.innerType)
  }
  return schema
}
