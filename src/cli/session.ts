import type { App } from '../app.ts'
import type { LoadedConfig } from '../config/load.ts'
import { isChange, type Performer } from '../operations/operation.ts'

/** What the functions behind a command need: where operations run, what interrupts them, and how to reach the operator. */
export interface Session {
  performer: Performer
  /** Null when the operations run on a daemon named by `--server`. */
  app: App | null
  signal: AbortSignal
  /** Whether `--timeout` has aborted `signal`, not the operator. */
  isTimedOut(): boolean
  /** True when stdout carries the JSON value alone. */
  json: boolean
  /** True when only errors are printed. */
  quiet: boolean
  /** Prints a line on stderr. */
  tell(message: string): void
  /** Keeps messages back while `work` draws on the terminal. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** Name of the daemon, or environment and project directory. */
  sourceName: string
}

/** `sourceName` of a command that runs on this machine. */
export function nameOfLoaded({ environment, places }: LoadedConfig): string {
  return `${environment} ${places.projectDir}`
}

/** Describes where a command runs on this machine, for `--debug`. */
export function describeLoaded({ environment, places, file }: LoadedConfig): string {
  const configuration = file ?? `none (${places.configFile})`
  return `environment ${environment}, project ${places.projectDir}, configuration ${configuration}`
}

/** Calls `act` before each operation that changes something. */
export function beforeChange(performer: Performer, act: () => void): Performer {
  return {
    ...performer,
    perform: (operation, input, follower) => {
      if (isChange(operation)) act()
      return performer.perform(operation, input, follower)
    },
  }
}
