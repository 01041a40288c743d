import type { IncomingMessage } from 'node:http'
import { fieldsOf, fromQuery } from '../../operations/from-query.ts'
import type { Operation } from '../../operations/operation.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import { mediaTypeOf, parseJson, readBody, toBodyAnswer } from '../body.ts'

/** The largest body that the API accepts, in bytes. */
export const largestBody = 1024 * 1024

type Input = { value: object } | Answer

/** The fields of a request with a body, or the answer that refuses it. */
export async function readInput(
  operation: Operation,
  request: IncomingMessage,
  query: URLSearchParams | null,
): Promise<Input> {
  const input = await readJsonObject(request)
  if ('status' in input || operation.http!.method !== 'DELETE') return input
  return mergeQuery(operation, fromQuery(operation, query), input.value)
}

/** The JSON object of a body; an empty one without a body. */
async function readJsonObject(request: IncomingMessage): Promise<Input> {
  const type = mediaTypeOf(request)
  if (type !== null && type !== 'application/json')
    return errorAnswer(400, 'The body has another media type; application/json is expected.')
  const body = await readBody(request, largestBody)
  if (!Buffer.isBuffer(body)) return toBodyAnswer(body)
  if (body.length === 0) return { value: {} }
  if (type === null) return errorAnswer(400, 'The body has no Content-Type; application/json is expected.')
  const parsed = parseJson(body)
  if (parsed === null) return errorAnswer(400, 'The body is not valid JSON.')
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return errorAnswer(400, 'The body must be a JSON object.')
  return { value }
}

/** Adds the query of a DELETE to its body: many clients send no body with DELETE, and some proxies remove it. Where both have a field, they must agree. */
function mergeQuery(operation: Operation, query: Record<string, unknown>, body: object): Input {
  const fields = body as Record<string, unknown>
  const disputed = fieldsOf(operation.input).find(
    (name) => Object.hasOwn(query, name) && Object.hasOwn(fields, name) && query[name] !== fields[name],
  )
  return disputed === undefined
    ? { value: { ...query, ...body } }
    : errorAnswer(400, `${disputed}: the query and the body have different values`)
}
