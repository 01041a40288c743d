import manifest from '../../../package.json' with { type: 'json' }
import * as z from 'zod/mini'
import { fieldsOf } from '../from-query.ts'
import { scopeOf, pathOf, type Operation, type Schema } from '../operation.ts'
import { exampleOf, type JsonSchema } from './example.ts'
import { commonFields, errorResponse, fixedPaths, securitySchemes } from './fixed.ts'

/** Generates the OpenAPI 3.1 document from the schemas that validate requests. */
export function openapiDocument(operations: readonly Operation[]): Record<string, unknown> {
  const published = operations.filter((operation) => operation.http !== undefined)
  const paths = [...Map.groupBy(published, (operation) => pathOf(operation.http!))].map(([path, group]) => [
    path,
    Object.fromEntries(group.map((operation) => [operation.http!.method.toLowerCase(), describeOperation(operation)])),
  ])
  return {
    openapi: '3.1.0',
    info: {
      title: 'pagecache',
      version: manifest.version,
      description:
        'The admin API of pagecache. Every endpoint below /api/_action needs a bearer token; errors are always {"success": false, "message": text}.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set([...published.map(tagOf), 'access'])].map((name) => ({ name })),
    paths: { ...Object.fromEntries(paths), ...fixedPaths },
    components: {
      securitySchemes,
      schemas: {
        Error: {
          type: 'object',
          required: ['success', 'message'],
          properties: { success: { const: false }, message: { type: 'string' } },
          examples: [{ success: false, message: 'limit: expected a whole number from 1 to 1000' }],
        },
      },
    },
  }
}

function describeOperation(operation: Operation): Record<string, unknown> {
  const scope = scopeOf(operation)
  const { method, path } = operation.http!
  const value = toJsonSchema(operation.output, 'output')
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const parameters = fieldsOf(operation.input)
    .filter((name) => method === 'GET' || method === 'DELETE' || pathNames.includes(name))
    .map((name) => describeParameter(operation.input, name, pathNames.includes(name)))
  const body = method === 'GET' ? null : describeBody(operation.input, pathNames)
  return {
    operationId: operation.name,
    summary: operation.summary,
    tags: [tagOf(operation)],
    security: [{ bearer: [] }, { client: [scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== null && { requestBody: body }),
    responses: {
      200: {
        description: 'Success',
        headers: commonFields,
        content: { 'application/json': { schema: value, example: exampleOf(value) } },
      },
      ...Object.fromEntries(
        [400, 401, 403, 405, 404, ...(method === 'GET' ? [] : [409, 413]), 429, 500, 503].map((status) => [
          status,
          errorResponse(status),
        ]),
      ),
    },
  }
}

/** `cache.stats` → `cache`. */
function tagOf(operation: Operation): string {
  return operation.name.split('.')[0]!
}

function describeParameter(input: Schema, name: string, inPath: boolean): Record<string, unknown> {
  const whole = toJsonSchema(input, 'output')
  const schema = whole.properties?.[name] ?? {}
  const needed = toJsonSchema(input, 'input').required?.includes(name) === true
  return { name, in: inPath ? 'path' : 'query', required: inPath || needed, schema, example: exampleOf(schema, name) }
}

function describeBody(input: Schema, pathNames: readonly string[]): Record<string, unknown> | null {
  const schema = toJsonSchema(input, 'input')
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => !pathNames.includes(name)),
  )
  if (Object.keys(properties).length === 0) return null
  const required = (schema.required ?? []).filter((name) => !pathNames.includes(name))
  const { required: _, additionalProperties: __, ...rest } = schema
  const body: JsonSchema = { ...rest, properties, ...(required.length > 0 && { required }) }
  return { required: required.length > 0, content: { 'application/json': { schema: body, example: exampleOf(body) } } }
}

function toJsonSchema(schema: Schema, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema
  return json
}
