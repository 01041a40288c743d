import type * as z from 'zod/mini'
import type { Operation, Schema } from './operation.ts'

/**
 * The fields of a query string or of a path as an operation's input. All of it is text: what the input declares as a number or a
 * boolean is read strictly (`5`, `true`), everything else is left for validation to refuse. A field that comes twice is a list.
 */
export function fromQuery(
  operation: Pick<Operation, 'input'>,
  query: Iterable<readonly [name: string, value: string]> | null,
): Record<string, unknown> {
  if (query === null) return {}
  const shape = shapeOf(operation.input)
  const texts = Map.groupBy(query, ([name]) => name)
  // No prototype: `__proto__` is a name like any other.
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

/** The names of an input's fields. */
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
