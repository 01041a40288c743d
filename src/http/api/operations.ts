import type { H3, H3Event } from 'h3'
import type { App } from '../../app.ts'
import type { Identity } from '../../auth/judgement.ts'
import { fromQuery } from '../../operations/from-query.ts'
import { scopeOf, pathOf, performOperation, type Operation, type OperationContext } from '../../operations/operation.ts'
import { errorAnswer, jsonAnswer, type Answer } from '../answer.ts'
import { identify, type SessionOptions } from '../admin/session.ts'
import { carriesSecret, isFromForeignPage, hostsOf, scopeMissing } from './caller.ts'
import { toField } from './error-answer.ts'
import { readInput } from './input.ts'
import { LiveStreams } from './live-streams.ts'
import type { ApiOptions } from './options.ts'
import { addRoutes, paramsOf, type Exchange, type Handler, type Method } from './route.ts'
import { SharedAnswers } from './shared-answers.ts'

export type OperationOptions = Pick<ApiOptions, 'app' | 'isReady' | 'onPerformed' | 'retired'> & SessionOptions

/** Adds a route for each operation that has a place in the HTTP API. Every path below their prefixes needs a token, also one without an endpoint. */
export function addOperations(app: H3, operations: readonly Operation[], options: OperationOptions): void {
  app.use('/api/_action/**', (event) => admit(event, options))
  const shared = new SharedAnswers()
  const streams = new LiveStreams(options.retired)
  const published = operations.filter((operation) => operation.http !== undefined)
  for (const [path, group] of Map.groupBy(published, (operation) => pathOf(operation.http!))) {
    const handlers: Partial<Record<Method, Handler>> = {}
    for (const operation of group) {
      const { method } = operation.http!
      if (handlers[method] !== undefined) throw new Error(`${path}: two operations with the method ${method}`)
      handlers[method] = toHandler(operation, options, { shared, streams })
    }
    addRoutes(app, path.replaceAll(/\{(\w+)\}/g, ':$1'), handlers)
  }
}

/** Middleware: refuses a request whatever it asks for, or notes its client in the context. */
async function admit({ context }: H3Event, options: OperationOptions): Promise<Answer | undefined> {
  const { exchange } = context
  const refused = refuseEarly(exchange, options)
  if (refused !== null) return refused
  const caller = await identify(exchange, options)
  if ('status' in caller) return caller
  context.caller = caller
  return undefined
}

/** Checks that need no token: the answer to a request that fails them; null if it passes. */
export function refuseEarly(
  { request, query }: Exchange,
  { isReady, isTrusted }: Pick<OperationOptions, 'isReady' | 'isTrusted'>,
): Answer | null {
  if (!isReady())
    return errorAnswer(503, 'The daemon is stopping.', [
      ['Connection', 'close'],
      ['Retry-After', '5'],
    ])
  if (query !== null && carriesSecret(query))
    return errorAnswer(400, 'Send the token in the Authorization field, never in the URL.')
  if (isFromForeignPage(request, hostsOf(request, isTrusted)))
    return errorAnswer(403, 'Requests from pages of other sites are not allowed.')
  return null
}

interface Answers {
  shared: SharedAnswers
  streams: LiveStreams
}

function toHandler(operation: Operation, options: OperationOptions, { shared, streams }: Answers): Handler {
  const access = scopeOf(operation)
  return (event) => {
    const caller = event.context.caller!
    if (!caller.scopes.includes(access)) return scopeMissing(access)
    if (operation.events !== undefined) return follow(operation, event, caller, options, streams)
    if (operation.http!.method === 'GET') return read(operation, event, caller, options.app, shared)
    return change(operation, event, options)
  }
}

/** Performs a GET. It changes nothing, so that equal requests can share one answer. */
function read(
  operation: Operation,
  event: H3Event,
  caller: Identity,
  app: App,
  shared: SharedAnswers,
): Promise<Answer> {
  const { request, query } = event.context.exchange
  const perform = () => answerOf(operation, { ...fromQuery(operation, query), ...paramsOf(event) }, caller, app)
  return shared.get(request.url!, perform)
}

/** Performs a live operation for as long as its client reads and its token is accepted. */
function follow(
  operation: Operation,
  event: H3Event,
  caller: Identity,
  options: OperationOptions,
  streams: LiveStreams,
): Promise<Answer> {
  const { exchange } = event.context
  const input = { ...fromQuery(operation, exchange.query), ...paramsOf(event) }
  const { method } = exchange.request
  return streams.open(method === 'HEAD', {
    perform: (follower) =>
      performOperation(
        operation,
        contextOf(caller, options.app, () => {}),
        input,
        follower,
      ),
    mayGoOn: async () => !('status' in (await identify(exchange, options))),
  })
}

/** Performs an operation that takes a body. */
async function change(operation: Operation, event: H3Event, options: OperationOptions): Promise<Answer> {
  const { exchange } = event.context
  const input = await readInput(operation, exchange.request, exchange.query)
  if ('status' in input) return input
  // The client may have been revoked while its body arrived.
  const caller = await identify(exchange, options)
  if ('status' in caller) return caller
  const answer = await answerOf(operation, { ...input.value, ...paramsOf(event) }, caller, options.app)
  if (scopeOf(operation) === 'write') options.onPerformed(operation.name, caller.actor)
  return answer
}

async function answerOf(operation: Operation, input: object, caller: Identity, app: App): Promise<Answer> {
  const notes: string[] = []
  const context = contextOf(caller, app, (event) => {
    if (event.kind === 'message') notes.push(event.message.replaceAll('\n', ' '))
  })
  const value = await performOperation(operation, context, input)
  return jsonAnswer(200, value, notes.length === 0 ? [] : [['Pagecache-Notes', toField(notes.join('\n'))]])
}

function contextOf({ actor, scopes }: Identity, app: App, report: OperationContext['report']): OperationContext {
  return { app, source: 'api', actor, scopes, signal: app.signal, report }
}
