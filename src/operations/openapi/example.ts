/** The part of JSON Schema that examples are generated from. */
export interface JsonSchema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  default?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  description?: string
  [other: string]: unknown
}

const id = '0190c0de-0000-7000-8000-000000000001'
const url = 'http://shop.example/shoes/'

/** Example values by field name, because a type alone says little to a reader. */
const valueByName: Record<string, unknown> = {
  url,
  urls: [url],
  prefix: 'http://shop.example/',
  key: `GET ${url}`,
  tag: 'product-0190c0de000070008000000000000001',
  tags: ['product-0190c0de000070008000000000000001'],
  entityId: '0190c0de000070008000000000000001',
  entityNumber: 'SW10001',
  entityType: 'product',
  totalSizeFormatted: '0 B',
  message: 'The warmup is paused.',
  encoding: 'gzip',
  name: 'Summer sale',
  dateFrom: '2026-11-01',
  dateTo: '2026-11-21',
  from: '2026-11-21T00:00:00Z',
  to: '2026-11-22T00:00:00Z',
  last: '24h',
}

/** Generates a valid value, deterministically. */
export function exampleOf(schema: JsonSchema, name = ''): unknown {
  if ('const' in schema) return schema.const
  if (schema.examples) return schema.examples[0]
  if (schema.enum) return schema.enum[0]
  if ('default' in schema) return schema.default
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return exampleOf(choices.find((choice) => choice.type !== 'null') ?? {}, name)
  if (schema.allOf) return exampleOf(schema.allOf[0] ?? {}, name)
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  switch (type) {
    case 'object':
      return exampleObject(schema)
    case 'array':
      return Array.isArray(valueByName[name])
        ? valueByName[name]
        : [exampleOf(schema.items ?? {}, name.replace(/s$/, ''))]
    case 'string':
      return exampleText(schema, name)
    case 'integer':
    case 'number':
      return Math.max(0, schema.minimum ?? 0)
    case 'boolean':
      return true
    default:
      return null
  }
}

function exampleObject(schema: JsonSchema): Record<string, unknown> {
  const entries = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(entries.map(([name, property]) => [name, exampleOf(property, name)]))
}

function exampleText({ format, pattern }: JsonSchema, name: string): string {
  if (format === 'date-time') return '2026-11-21T12:00:00.000Z'
  if (format === 'date') return '2026-11-21'
  if (format === 'uuid' || /(^|_)id$|Id$/i.test(name))
    return typeof valueByName[name] === 'string' ? (valueByName[name] as string) : id
  const value = valueByName[name]
  const text = typeof value === 'string' ? value : 'text'
  return pattern === undefined || new RegExp(pattern, 'u').test(text) ? text : '0'
}
