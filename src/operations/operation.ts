import * as z from 'zod/mini'
import type { App } from '../app.ts'
import type { Scope } from '../auth/judgement.ts'
import { writeKeyPath } from '../config/raw.ts'
import { PagecacheError } from '../errors.ts'
import type { InvalidationSource } from '../purge/invalidation.ts'

export { allScopes } from '../auth/judgement.ts'

/** Reported by an operation while it runs; never part of its value. */
export type OperationEvent =
  | { kind: 'message'; message: string }
  | { kind: 'progress'; progress: Readonly<Record<string, unknown>> }

/** Everything an operation needs besides its input. The app opens its parts on first use. */
export interface OperationContext {
  app: App
  source: InvalidationSource
  /** Id of the API client, for the log; null for the command line. */
  actor: string | null
  /** Access of the actor; the command line has full access. */
  scopes: readonly Scope[]
  signal: AbortSignal
  report(event: OperationEvent): void
  /** Receives the events of a live operation. A promise holds back the next one until it has settled. */
  emit?: Emit
}

export type Emit = (event: unknown) => void | Promise<void>

/** Who follows a live operation, until the signal is aborted. */
export interface Follower {
  emit: Emit
  signal: AbortSignal
}

export interface HttpRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the prefix; `{name}` stands for a field of the input. */
  path: string
  /** Part of the API below `/api/_action/`; default: `vendor-cache`. */
  prefix?: 'vendor-cache' | 'vendor-stage'
}

/** A zod schema. pagecache uses `zod/mini`, which starts ten milliseconds faster. */
export type Schema = z.core.$ZodType

/**
 * Something that an operator can do. The command line, the HTTP API, the remote client and the OpenAPI document are derived from it.
 */
export interface Operation<Input extends Schema = Schema, Value = unknown> {
  /** `cache.stats`: topic and verb. */
  name: string
  summary: string
  input: Input
  output: z.core.$ZodType<Value>
  /** An event of a live operation, which runs until its follower leaves. Over HTTP its answer is a stream of server-sent events. */
  events?: Schema
  /** Its HTTP endpoint; without one, it is available on the command line only. */
  http?: HttpRoute
  /** Access that a client needs; default: `read` for GET, otherwise `write`. */
  scope?: Scope
  run(context: OperationContext, input: z.output<Input>): Promise<NoInfer<Value>>
}

export function defineOperation<Input extends Schema, Value>(
  operation: Operation<Input, Value>,
): Operation<Input, Value> {
  return operation
}

export function scopeOf({ scope, http }: Pick<Operation, 'scope' | 'http'>): Scope {
  return scope ?? (http?.method === 'GET' ? 'read' : 'write')
}

/** Whether an operation changes something. */
export function isChange(operation: Pick<Operation, 'scope' | 'http'>): boolean {
  return operation.http !== undefined && scopeOf(operation) === 'write'
}

/** Path of an operation's endpoint; `{name}` stands for an input field. */
export function pathOf({ prefix = 'vendor-cache', path }: HttpRoute): string {
  return `/api/_action/${prefix}${path}`
}

/** Performs operations in this process, or on the daemon named by `--server`. */
export interface Performer {
  perform<Input extends Schema, Value>(
    operation: Operation<Input, Value>,
    input: Given<Input>,
    follower?: Follower,
  ): Promise<Value>
  /** Whether operations of the scope `write` are allowed; absent where everything is. */
  mayWrite?(): Promise<boolean>
}

/** What an operation returns. */
export type ValueOf<Performed extends Pick<Operation, 'run'>> = Awaited<ReturnType<Performed['run']>>

/** Unvalidated input of an operation; fields with a default are optional. */
export type Given<Input extends Schema> = z.input<Input>

/** Validates the input and runs the operation. @throws INVALID_INPUT naming every invalid field */
export async function performOperation<Input extends Schema, Value>(
  operation: Operation<Input, Value>,
  context: OperationContext,
  input: unknown,
  follower?: Follower,
): Promise<Value> {
  const parsed = parseInput(operation, input)
  if (follower === undefined) return operation.run(context, parsed)
  const signal = AbortSignal.any([context.signal, follower.signal])
  return operation.run({ ...context, emit: follower.emit, signal }, parsed)
}

/** Validates input and applies the defaults. @throws INVALID_INPUT naming every invalid field */
export function parseInput<Input extends Schema>(operation: { input: Input }, input: unknown): z.output<Input> {
  const parsed = z.safeParse(operation.input, input)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.map((issue) => {
    const field = writeKeyPath(issue.path.filter((part) => typeof part !== 'symbol'))
    return field === '' ? issue.message : `${field}: ${issue.message}`
  })
  // Several rules of a field may have the same message.
  throw new PagecacheError('INVALID_INPUT', [...new Set(errors)].join('; '))
}
