import { PagecacheError } from '../errors.ts'
import type { Operation, Performer } from '../operations/operation.ts'

/**
 * Where the monitor has its figures from and sends its commands to: operations by their names, wherever they run, so that
 * a daemon far away is watched in the same way as this machine.
 */
export interface Source {
  /** What is watched, for the head of the screen: an environment and its directory, or a daemon. */
  readonly name: string
  /** Performs an operation; throws what it throws. */
  perform(operation: string, input: object): Promise<unknown>
}

/** The operations of this process, or of the daemon that the performer speaks to. */
export function toSource(name: string, operations: readonly Operation[], performer: Performer): Source {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  return {
    name,
    async perform(operation, input) {
      const found = byName.get(operation)
      if (!found) throw new PagecacheError('NOT_FOUND', `There is no operation ${operation}.`)
      return performer.perform(found, input)
    },
  }
}
