import type { IncomingMessage } from 'node:http'
import type { App } from '../../app.ts'
import type { Identity, Judge } from '../../auth/judgement.ts'
import { PagecacheError } from '../../errors.ts'
import { fieldsOf, fromQuery } from '../../operations/from-query.ts'
import { scopeOf, performOperation, type Operation } from '../../operations/operation.ts'
import { ok, refusal, toErrorAnswer, toField, type ApiAnswer } from './api-answer.ts'
import { announcesTooMuch, mediaTypeOf, parseJson, readBody, tooLarge } from './body.ts'
import { operationOf, type Found } from './endpoints.ts'
import { addressOf, bearerOf, carriesSecret, isFromForeignPage, queryOf } from './caller.ts'
import { askedHost } from '../front/request-record.ts'
import type { SharedAnswers } from './shared-answers.ts'

export interface ApiOptions {
  app: App
  /** Who may use the API. */
  judge(): Promise<Judge>
  /** Whether requests are still taken; false once the daemon is stopping. */
  isReady(): boolean
  isTrusted(address: string | undefined): boolean
  onError(message: string, error: unknown): void
  /** An operation of the scope `write` was performed, and for whom. */
  onPerformed(operation: string, actor: string): void
  shared: SharedAnswers
}

/** Answers a request to an endpoint, or to a path below the API that is none (null). */
export async function answerApi(
  request: IncomingMessage,
  found: Found | null,
  options: ApiOptions,
): Promise<ApiAnswer> {
  const query = queryOf(request)
  const refused = refuseUnread(request, query, options)
  if (refused !== null) return refused
  try {
    const caller = await identify(request, options)
    if ('status' in caller) return caller
    if (found === null) return refusal(404, 'There is no such endpoint.')
    const operation = operationOf(found.endpoint, request.method!)
    if (operation === null)
      return refusal(405, `${request.method} is not allowed here.`, { allow: found.endpoint.allow })
    const scope = scopeOf(operation)
    if (!caller.scopes.includes(scope)) {
      return refusal(403, `This needs the scope ${scope}.`, {
        'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
      })
    }
    if (operation.http!.method === 'GET')
      return await ask(operation, { ...fromQuery(operation, query), ...found.params }, request.url!, caller, options)
    return await change(operation, found.params, request, query, options)
  } catch (error) {
    // What an operator can act on is said to him; the rest is our bug, and what it was stands in the log alone.
    const answer = toErrorAnswer(error)
    if (!(error instanceof PagecacheError) || answer.status >= 500)
      options.onError(`${request.method} ${request.url!.split('?', 1)[0]!} failed`, error)
    return answer
  }
}

/** What is refused whoever asks. */
function refuseUnread(
  request: IncomingMessage,
  query: URLSearchParams | null,
  { isReady, isTrusted }: ApiOptions,
): ApiAnswer | null {
  if (!isReady()) return refusal(503, 'The daemon is stopping.', { connection: 'close', 'retry-after': '5' })
  if (announcesTooMuch(request)) return tooLarge
  if (query !== null && carriesSecret(query))
    return refusal(400, 'A token belongs into the Authorization field, never into the URL.')
  if (isFromForeignPage(request, ownHosts(request, isTrusted)))
    return refusal(403, 'Pages of other sites may not do this.')
  return null
}

/** By which names this request may call us. */
export function ownHosts({ headers, socket }: IncomingMessage, isTrusted: ApiOptions['isTrusted']): string[] {
  const forwarded = isTrusted(socket.remoteAddress) ? headers['x-forwarded-host'] : undefined
  return [headers.host ?? '', ...(typeof forwarded === 'string' ? forwarded.split(',').map((host) => host.trim()) : [])]
}

/** Who asks, by the bearer token; an answer where that is nobody. */
export async function identify(
  request: IncomingMessage,
  { judge, isTrusted }: Pick<ApiOptions, 'judge' | 'isTrusted'>,
): Promise<Identity | ApiAnswer> {
  const token = bearerOf(request)
  if (token === null) return refusal(401, 'A bearer token is missing.', { 'www-authenticate': 'Bearer' })
  if (token === undefined) return unauthorised('The Authorization field holds no bearer token.')
  const judging = (await judge()).judge(token, { address: addressOf(request, isTrusted), host: askedHost() })
  const judgement = judging instanceof Promise ? await judging : judging
  switch (judgement.kind) {
    case 'accepted':
      return judgement
    case 'refused':
      return unauthorised(judgement.message)
    case 'limited':
      return refusal(429, 'Too many failures. Try again later.', { 'retry-after': String(judgement.retryAfter) })
    case 'unavailable':
      return refusal(503, judgement.message, { 'retry-after': '5' })
  }
}

function unauthorised(message: string): ApiAnswer {
  return refusal(401, message, { 'www-authenticate': 'Bearer' })
}

/** The fields of a body: none where there is no body. */
async function readInput(request: IncomingMessage): Promise<{ value: object } | ApiAnswer> {
  const type = mediaTypeOf(request)
  if (type !== null && type !== 'application/json')
    return refusal(400, 'The body is of another media type; application/json is expected.')
  const body = await readBody(request)
  if (!Buffer.isBuffer(body)) return body
  if (body.length === 0) return { value: {} }
  if (type === null) return refusal(400, 'The body has no Content-Type; application/json is expected.')
  const parsed = parseJson(body)
  if ('status' in parsed) return parsed
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refusal(400, 'The body is no JSON object.')
  return { value }
}

/** Many clients send no body with DELETE, and some proxies take it away: its fields may stand in the query too. Where both have one, they have to agree. */
function withQuery(operation: Operation, query: Record<string, unknown>, body: object): { value: object } | ApiAnswer {
  const said = body as Record<string, unknown>
  const disputed = fieldsOf(operation.input).find(
    (name) => Object.hasOwn(query, name) && Object.hasOwn(said, name) && query[name] !== said[name],
  )
  return disputed === undefined
    ? { value: { ...query, ...body } }
    : refusal(400, `${disputed}: the query and the body say different things`)
}

/** A question: it changes nothing, so that those who ask the same at once share its answer. */
function ask(
  operation: Operation,
  input: object,
  question: string,
  caller: Identity,
  options: ApiOptions,
): Promise<ApiAnswer> {
  return options.shared.ask(question, () => perform(operation, input, caller, options))
}

/** A change that was asked for with a body. */
async function change(
  operation: Operation,
  params: Found['params'],
  request: IncomingMessage,
  query: URLSearchParams | null,
  options: ApiOptions,
): Promise<ApiAnswer> {
  const input = await readInput(request)
  if ('status' in input) return input
  const asked =
    operation.http!.method === 'DELETE' ? withQuery(operation, fromQuery(operation, query), input.value) : input
  if ('status' in asked) return asked
  // A body takes its time: who was revoked meanwhile does nothing any more.
  const caller = await identify(request, options)
  if ('status' in caller) return caller
  const answer = await perform(operation, { ...asked.value, ...params }, caller, options)
  if (scopeOf(operation) === 'write') options.onPerformed(operation.name, caller.actor)
  return answer
}

async function perform(operation: Operation, input: object, caller: Identity, { app }: ApiOptions): Promise<ApiAnswer> {
  const notes: string[] = []
  const value = await performOperation(
    operation,
    {
      app,
      source: 'api',
      actor: caller.actor,
      scopes: caller.scopes,
      signal: app.signal,
      report: (event) => {
        if (event.kind === 'message') notes.push(event.message.replaceAll('\n', ' '))
      },
    },
    input,
  )
  return ok(value, notes.length === 0 ? {} : { 'pagecache-notes': toField(notes.join('\n')) })
}
