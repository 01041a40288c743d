import { PagecacheError } from '../errors.ts'
import type { Follower, Operation, Performer } from '../operations/operation.ts'

/**
 * Where the monitor reads its figures and sends its commands: operations by name, in this process or on a remote daemon.
 */
export interface Source {
  /** Shown at the top of the screen: an environment and its directory, or a daemon. */
  readonly name: string
  /** Performs an operation, a live one until its follower leaves; rethrows its errors. */
  perform(operation: string, input: object, follower?: Follower): Promise<unknown>
  /** Whether the client may change anything; absent where it may. */
  mayWrite?(): Promise<boolean>
}

/** The operations of this process, or of the daemon that the performer speaks to. */
export function toSource(name: string, operations: readonly Operation[], performer: Performer): Source {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  return {
    name,
    ...(performer.mayWrite !== undefined && { mayWrite: () => performer.mayWrite!() }),
    async perform(operation, input, follower) {
      const found = byName.get(operation)
      if (!found) throw new PagecacheError('NOT_FOUND', `Unknown operation ${operation}.`)
      return performer.perform(found, input, follower)
    },
  }
}
