import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, it } from 'vitest'
import { operations } from '../../src/operations/index.ts'
import { singular } from '../../src/pages/page.ts'
import { openapiDocument } from '../../src/operations/openapi/document.ts'
import * as z from 'zod/mini'

const document = openapiDocument(operations) as {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        requestBody?: { content: Record<string, { example?: unknown }> }
        parameters?: { name: string; example: unknown }[]
        responses: Record<string, { content?: Record<string, { example?: unknown }> }>
      }
    >
  >
}

it('docs/openapi.json is what the operations say', () => {
  const written = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as unknown
  expect(written, 'if the change is meant: npm run snapshot').toEqual(JSON.parse(JSON.stringify(document)))
})

it('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator()
  const result = await validator.validate(JSON.parse(JSON.stringify(document)) as Record<string, unknown>)
  expect(result.errors ?? []).toEqual([])
  expect([result.valid, validator.version]).toEqual([true, '3.1'])
})

const described = Object.values(document.paths).flatMap((methods) => Object.values(methods))

it('describes every operation that has a place in the API, once', () => {
  const names = operations.filter(({ http }) => http !== undefined).map(({ name }) => name)
  expect(
    described
      .map(({ operationId }) => operationId)
      .filter((name) => !/^(oauth|info)\./.test(name))
      .toSorted(),
  ).toEqual(names.toSorted())
})

it('names every type in the statistics', () => {
  const example = described.find(({ operationId }) => operationId === 'cache.stats')!.responses['200']!.content![
    'application/json'
  ]!.example as Record<string, object>
  expect(Object.keys(example['byType']!)).toEqual(Object.keys(singular))
  expect(Object.keys(example['byTypeDetailed']!)).toEqual(Object.values(singular))
})

it.each(operations.filter(({ http }) => http !== undefined).map((operation) => [operation.name, operation] as const))(
  '%s has examples that it would take and give',
  (name, operation) => {
    const { requestBody, parameters = [], responses } = described.find(({ operationId }) => operationId === name)!
    const body = requestBody?.content['application/json']?.example as Record<string, unknown> | undefined
    const given = { ...Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.example])), ...body }
    const wrong = z.safeParse(operation.input, given).error?.issues.filter((issue) => issue.path.length > 0) ?? []
    expect(wrong).toEqual([])
    const answer = z.safeParse(operation.output, responses['200']!.content!['application/json']!.example)
    expect(answer.error?.issues ?? []).toEqual([])
  },
)
