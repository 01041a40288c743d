/**
 * Where the monitor has its figures from and sends its commands to: operations by their names, wherever they run.
 * Their values are what the HTTP API answers, so that a daemon far away is watched in the same way as this machine.
 */
export interface Source {
  /** What is watched, for the head of the screen: an environment, a directory, an address. */
  readonly name: string
  /** Performs an operation; throws what it throws. */
  perform(operation: string, input: object): Promise<unknown>
}
