import { describe, expect, it } from 'vitest'
import * as z from 'zod/mini'
import { writeKeyPath } from '../../../src/config/raw.ts'
import { fieldsOf, fromQuery } from '../../../src/operations/from-query.ts'
import { operations } from '../../../src/operations/index.ts'
import { openapiDocument } from '../../../src/operations/openapi/document.ts'
import { type Operation, pathOf, scopeOf } from '../../../src/operations/operation.ts'
import { expectRefusal } from '../../helpers/api.ts'
import { bearer, jsonOf } from '../../helpers/api-client.ts'
import { api, useApi } from './api-of-file.ts'

useApi()

const published = operations.filter((operation) => operation.http !== undefined)

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS'] as const

/** Values that most fields reject, for different reasons. */
const extremes: unknown[] = [
  null,
  true,
  '',
  'x'.repeat(3000),
  '\u0000',
  -1,
  0,
  1.5,
  1e21,
  2 ** 53,
  [],
  [1],
  {},
  '5 ',
  '0x10',
  '1e3',
]

interface Sent {
  path: string
  headers: Record<string, string>
  body?: string
}

/** A request of an operation: fields in the path, in the query of a GET, else in the body. */
function toSend({ http }: Operation, fields: Record<string, unknown>): Sent {
  const rest = { ...fields }
  const path = pathOf(http!).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(rest[name] ?? '0190c0de-0000-7000-8000-00000000000f'))
    delete rest[name]
    return value
  })
  if (http!.method !== 'GET')
    return { path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(rest) }
  const query = new URLSearchParams(
    Object.entries(rest).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, String(item)]),
    ),
  )
  return { path: query.size > 0 ? `${path}?${query}` : path, headers: {} }
}

/** The fields of a request that the operation's own schema rejects. */
function faultsOf(operation: Operation, fields: Record<string, unknown>): string[] {
  const asSent =
    operation.http!.method === 'GET'
      ? fromQuery(operation, new URLSearchParams(toSend(operation, fields).path.split('?')[1] ?? ''))
      : fields
  const inPath = [...operation.http!.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const named = Object.fromEntries(
    inPath.map((name) => [name, String(fields[name] ?? '0190c0de-0000-7000-8000-00000000000f')]),
  )
  const parsed = z.safeParse(operation.input, { ...asSent, ...named })
  return parsed.success
    ? []
    : parsed.error.issues.map((issue) => writeKeyPath(issue.path.filter((part) => typeof part !== 'symbol')))
}

/** The example of the OpenAPI document, which has the required fields only. */
function exampleOf({ http, name }: Operation): Record<string, unknown> {
  const document = openapiDocument(operations) as {
    paths: Record<
      string,
      Record<
        string,
        {
          requestBody?: { content: Record<string, { example: Record<string, unknown> }> }
          parameters?: { name: string; required: boolean; example: unknown }[]
        }
      >
    >
  }
  const described = document.paths[pathOf(http!)]![http!.method.toLowerCase()]
  if (described === undefined) throw new Error(`${name} is not described`)
  const parameters = (described.parameters ?? [])
    .filter(({ required }) => required)
    .map((parameter) => [parameter.name, parameter.example])
  return { ...described.requestBody?.content['application/json']?.example, ...Object.fromEntries(parameters) }
}

async function send(
  operation: Operation,
  fields: Record<string, unknown>,
  headers: Record<string, string>,
  method: string = operation.http!.method,
) {
  const { path, body, headers: own } = toSend(operation, fields)
  return api.ask(path, {
    method,
    headers: { ...own, ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    ...(body !== undefined && { body }),
  })
}

describe.each(
  published.map((operation) => [`${operation.http!.method} ${pathOf(operation.http!)}`, operation] as const),
)('%s', (_, operation) => {
  const { http } = operation

  it('requires a valid token', async () => {
    expectRefusal(await send(operation, {}, {}), 401, /missing/)
    for (const authorization of [
      'Bearer nonsense',
      'Bearer a.b.c',
      `Bearer ${api.write.token}x`,
      `Basic ${btoa('a:b')}`,
      'Bearer',
    ]) {
      expectRefusal(await send(operation, {}, { authorization }), 401, /bearer token/)
    }
  })

  it('rejects a token in the URL', async () => {
    const { path, body, headers } = toSend(operation, {})
    const url = `${path}${path.includes('?') ? '&' : '?'}access_token=${api.write.token}`
    expectRefusal(
      await api.ask(url, {
        method: http!.method,
        headers: { ...headers, ...bearer(api.write.token) },
        ...(body && { body }),
      }),
      400,
      /URL/,
    )
  })

  it('allows a read-only client what its scope covers', async () => {
    // A stream of events has no end: its HEAD shows whether it would begin.
    const method = operation.events === undefined ? http!.method : 'HEAD'
    const answer = await send(operation, { dryRun: true, ...exampleOf(operation) }, bearer(api.read.token), method)
    if (scopeOf(operation) === 'write') expectRefusal(answer, 403, /scope write/)
    else expect([200, 400, 404, 409]).toContain(answer.status)
  })

  it.skipIf(operation.events !== undefined)('answers as documented, or with an API error', async () => {
    const answer = await send(operation, exampleOf(operation), bearer(api.write.token))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    if (answer.status !== 200) {
      expect([400, 404, 409, 502]).toContain(answer.status)
      return expectRefusal(answer, answer.status)
    }
    expect(z.safeParse(operation.output, jsonOf(answer)).error).toBeUndefined()
  })

  it('answers 405 with the allowed methods', async () => {
    const own = published
      .filter((other) => other.http!.path === http!.path && other.http!.prefix === http!.prefix)
      .map((other) => other.http!.method as string)
    for (const method of methods.filter((name) => !own.includes(name))) {
      const answer = await send(operation, {}, bearer(api.write.token), method)
      expectRefusal(answer, 405)
      expect(answer.headers.get('allow')).toBe([...own, ...(own.includes('GET') ? ['HEAD'] : [])].join(', '))
    }
  })

  it('names every missing or invalid field', async () => {
    const good = exampleOf(operation)
    const inPath = [...http!.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const without = fieldsOf(operation.input)
      .filter((name) => !inPath.includes(name))
      .map((name) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name)))
    const wrong = fieldsOf(operation.input)
      .filter((name) => !inPath.includes(name))
      .flatMap((name) => extremes.map((value) => ({ ...good, [name]: value })))
    for (const fields of [...without, ...wrong]) {
      const faults = faultsOf(operation, fields)
      if (faults.length === 0) continue
      const answer = await send(operation, fields, bearer(api.write.token))
      expectRefusal(answer, 400)
      const { message } = jsonOf(answer) as { message: string }
      for (const fault of faults) expect(message).toContain(fault)
      // The message says once what is expected, not only that the value is invalid.
      expect(message).not.toContain('Invalid input')
      expect(message).not.toContain(String(Number.MAX_SAFE_INTEGER))
      expect(new Set(message.split('; ')).size).toBe(message.split('; ').length)
    }
  })
})

describe.each(
  published
    .filter(({ http }) => http!.method !== 'GET')
    .map((operation) => [`${operation.http!.method} ${pathOf(operation.http!)}`, operation] as const),
)('%s', (_, operation) => {
  const { http } = operation

  it('accepts only JSON objects of at most 1 MiB', async () => {
    const post = (type: string | null, body: string | Buffer) =>
      api.ask(toSend(operation, {}).path, {
        method: http!.method,
        headers: {
          ...bearer(api.write.token),
          ...(type && { 'content-type': type }),
          'content-length': String(Buffer.byteLength(body)),
        },
        body,
      })
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'application/xml',
    ])
      expectRefusal(await post(type, '{}'), 400, /application\/json/)
    expectRefusal(await post(null, '{}'), 400, /Content-Type/)
    for (const body of [
      '{',
      '{"a":1}x',
      "{'a':1}",
      'nonsense',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    ])
      expectRefusal(await post('application/json', body), 400, /JSON/)
    for (const body of ['[]', 'null', '1', '"text"'])
      expectRefusal(await post('application/json', body), 400, /JSON object/)
    expectRefusal(await post('application/json', JSON.stringify({ padding: 'x'.repeat(1024 * 1024) })), 413)
  })

  it('rejects requests from pages of other sites', async () => {
    for (const origin of ['http://evil.example', 'null'])
      expectRefusal(await send(operation, {}, { ...bearer(api.write.token), origin }), 403)
    expectRefusal(await send(operation, {}, { ...bearer(api.write.token), 'sec-fetch-site': 'cross-site' }), 403)
  })
})
