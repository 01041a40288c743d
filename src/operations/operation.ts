import * as z from 'zod/mini'
import type { App } from '../app.ts'
import type { Scope } from '../auth/judgement.ts'
import { writeKeyPath } from '../config/raw.ts'
import { PagecacheError } from '../errors.ts'
import type { InvalidationSource } from '../purge/invalidation.ts'

export { allScopes } from '../auth/judgement.ts'

/** What an operation tells while it is working; never part of its value. */
export type OperationEvent =
  | { kind: 'message'; message: string }
  | { kind: 'progress'; progress: Readonly<Record<string, unknown>> }

/** What an operation works with. Parts of the app are opened when it asks for them. */
export interface OperationContext {
  app: App
  source: InvalidationSource
  /** Who asked, as the log names them: an API client's id; null for the command line. */
  actor: string | null
  /** What he may do; all of it on the command line. */
  scopes: readonly Scope[]
  signal: AbortSignal
  report(event: OperationEvent): void
}

export interface HttpPlace {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the prefix; `{name}` stands for a field of the input. */
  path: string
  /** Which part of the API: `/api/_action/vendor-cache` without it. */
  prefix?: 'vendor-cache' | 'vendor-stage'
}

/** A zod schema; ours are of `zod/mini`, which take ten milliseconds less at the start of every command. */
export type Schema = z.core.$ZodType

/**
 * One thing that an operator can do. The command line, the HTTP API, the remote client and the OpenAPI document
 * are made from this; none of them knows more about it.
 */
export interface Operation<Input extends Schema = Schema, Value = unknown> {
  /** `cache.stats`: topic and verb. */
  name: string
  summary: string
  input: Input
  output: z.core.$ZodType<Value>
  /** Its place in the HTTP API; without one it is for the command line alone. */
  http?: HttpPlace
  /** The scope that a client needs; without it GET is `read` and everything else `write`. */
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

/** The path of an operation's endpoint, with `{name}` where a field of the input stands. */
export function pathOf({ prefix = 'vendor-cache', path }: HttpPlace): string {
  return `/api/_action/${prefix}${path}`
}

/** Performs operations where the operator wants them: in this process, or on the daemon that `--server` names. */
export interface Performer {
  perform<Input extends Schema, Value>(operation: Operation<Input, Value>, input: Given<Input>): Promise<Value>
}

/** What may be given to an operation with this input: what has a default can be left out. */
export type Given<Input extends Schema> = z.input<Input>

/** Validates the input and runs the operation. Throws INVALID_INPUT (exit 2, status 400) that names every wrong field. */
export async function performOperation<Input extends Schema, Value>(
  operation: Operation<Input, Value>,
  context: OperationContext,
  input: unknown,
): Promise<Value> {
  return operation.run(context, parseInput(operation, input))
}

/** The input as the operation takes it, with its defaults. Throws INVALID_INPUT that names every wrong field. */
export function parseInput<Input extends Schema>(operation: { input: Input }, input: unknown): z.output<Input> {
  const parsed = z.safeParse(operation.input, input)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    const field = writeKeyPath(issue.path.filter((part) => typeof part !== 'symbol'))
    return field === '' ? issue.message : `${field}: ${issue.message}`
  })
  // A value may break several rules that say the same.
  throw new PagecacheError('INVALID_INPUT', [...new Set(faults)].join('; '))
}
