import * as z from 'zod/mini'

/** How a parsed value is formatted. */
export type ValueKind = 'plain' | 'duration' | 'size' | 'share'

export const valueKinds = z.registry<{ kind: ValueKind }>()

/** JSON Schema of each type of value as it is written in the file, for editors. It may accept more than the parser does. */
export const jsonForms = z.registry<{ form: JsonForm }>()

export type JsonForm = Readonly<Record<string, unknown>>

interface ValueDefinition extends z.core.$ZodTypeDef {
  expected: string
  /** The default, written as in the file. */
  initial?: unknown
  parse(input: unknown): unknown
}

interface Value extends z.ZodMiniType {
  def: ValueDefinition
}

const initSchema: (schema: Value, def: ValueDefinition) => void = z.ZodMiniType.init

/** A value with its default is one schema. Zod would need four: a default for a pipe of an unknown and a transform. */
const Value = z.core.$constructor<Value, ValueDefinition>('Value', (schema, definition) => {
  initSchema(schema, definition)
  schema._zod.parse = (payload) => {
    const input = payload.value === undefined ? definition.initial : payload.value
    payload.value = definition.parse(input)
    if (payload.value === undefined) payload.issues.push({ code: 'custom', message: definition.expected, input })
    return payload
  }
})

/** Defines a type of value: a parser, and what it expects. The loader adds the key path, the value and the source to errors. */
export function value<T>(expected: string, parse: (input: unknown) => T | undefined, form: JsonForm = {}) {
  const schema = new Value({ type: 'custom', expected, parse })
  jsonForms.add(schema, { form })
  return schema as z.ZodMiniType<T, unknown>
}

/** Gives a value a default, written as in the file. */
export function withDefault<T>(schema: z.ZodMiniType<T, unknown>, initial: string | number | boolean | null) {
  ;(schema._zod.def as ValueDefinition).initial = initial
  schema._zod.optin = 'defaulted'
  return schema as z.ZodMiniPrefault<typeof schema>
}

/** The default of a value; undefined without one. */
export function defaultOf(schema: z.core.$ZodType): unknown {
  return (schema._zod.def as Partial<ValueDefinition>).initial
}
