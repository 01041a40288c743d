import type { PlainConfig } from '../config/plain.ts'
import type { Config } from '../config/schema.ts'
import type { ErrorCode } from '../errors.ts'
import type { Counted } from '../lib/shared-counts.ts'
import type { Place } from './listen.ts'
import type { MetricValues } from '../http/api/metrics.ts'

/** What a process is there for. Where it listens and how it logs is that with which the daemon started, whatever was reloaded since. */
export interface Task {
  serves: boolean
  works: boolean
  host: string
  port: number
  place: Exclude<Place, { kind: 'tcp' }> | null
  logging: Config['log']
}

/** What the processes of a daemon tell each other: over a socket between the two, which nobody else can read. */
export type FromParent =
  | { kind: 'begin'; task: Task; config: PlainConfig }
  | { kind: 'reload'; config: PlainConfig }
  /** Say that you are not ready any more, and end the work on the queue. Connections still come. */
  | { kind: 'stop' }
  /** No connection comes any more: finish what is in hand. */
  | { kind: 'close' }
  /** Say that you are alive. `handed`: the last connection that was sent before. */
  | { kind: 'ping'; handed: number }
  /** A connection, which comes along. */
  | { kind: 'connection'; id: number }
  /** What another process has counted. */
  | { kind: 'counted'; counted: Counted }
  /** Tell your metrics. */
  | { kind: 'measure'; id: number }
  /** Everybody's metrics, as they were asked for. */
  | { kind: 'measured'; id: number; processes: MetricValues[] }

export type FromChild =
  /** Listens to what it is told from now on. */
  | { kind: 'hello' }
  | { kind: 'ready' }
  | { kind: 'pong'; handed: number }
  /** A connection is served here. */
  | { kind: 'taken'; id: number }
  | { kind: 'counted'; counted: Counted }
  | { kind: 'failed'; code: ErrorCode; message: string; hint: string | null }
  | { kind: 'gather'; id: number }
  | { kind: 'values'; id: number; values: MetricValues }
