import { PagecacheError } from '../errors.ts'
import { performOperation, type Operation, type OperationContext } from '../operations/operation.ts'
import type { Source } from './source.ts'

/** The operations of this process's app. What they report while they work is not shown. */
export function toLocalSource(name: string, operations: readonly Operation[], context: Omit<OperationContext, 'report'>): Source {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  return {
    name,
    async perform(operation, input) {
      const found = byName.get(operation)
      if (!found) throw new PagecacheError('NOT_FOUND', `There is no operation ${operation}.`)
      return performOperation(found, { ...context, report: () => {} }, input)
    },
  }
}
