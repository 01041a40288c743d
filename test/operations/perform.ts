import { expect } from 'vitest'
import * as z from 'zod/mini'
import type { App } from '../../src/app.ts'
import { allScopes, performOperation, type Given, type Operation, type Schema } from '../../src/operations/operation.ts'

/** Performs an operation and checks its value against the schema of its output. */
export async function perform<Input extends Schema, Value>(
  app: App,
  operation: Operation<Input, Value>,
  input: Given<Input>,
): Promise<Value> {
  const context = {
    app,
    source: 'cli' as const,
    actor: null,
    scopes: allScopes,
    signal: app.signal,
    report: () => {},
  }
  const value = await performOperation(operation, context, input)
  expect(z.safeParse(operation.output, value).error).toBeUndefined()
  return value
}
