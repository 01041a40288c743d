import type { PlainConfig } from '../config/plain.ts'
import type { Config } from '../config/schema.ts'
import type { ErrorCode } from '../errors.ts'
import type { Counted } from '../lib/shared-counts.ts'
import type { ListenAddress } from './listen.ts'
import type { MetricValues } from '../http/api/metrics.ts'

/** What a process does. Its address and logging are those that the daemon started with; a reload does not change them. */
export interface Task {
  serves: boolean
  works: boolean
  host: string
  port: number
  address: Exclude<ListenAddress, { kind: 'tcp' }> | null
  proxyProtocol: boolean
  logging: Config['log']
}

/** Messages from a parent to its processes, over a private socket. */
export type FromParent =
  | { kind: 'begin'; task: Task; config: PlainConfig }
  | { kind: 'reload'; config: PlainConfig }
  /** Report not ready and stop consuming the queue. Connections still arrive. */
  | { kind: 'stop' }
  /** No more connections will come: finish the requests in progress. */
  | { kind: 'close' }
  /** Answer with `pong`. `lastConnection`: the id of the last connection sent before. */
  | { kind: 'ping'; lastConnection: number }
  /** A connection; its socket comes with the message. */
  | { kind: 'connection'; id: number }
  /** Counts of another process. */
  | { kind: 'counted'; counted: Counted }
  /** Send your metrics. */
  | { kind: 'measure'; id: number }
  /** The metrics of all processes, as requested by `gather`. */
  | { kind: 'measured'; id: number; processes: MetricValues[] }

/** Messages from a process to its parent. */
export type FromChild =
  /** Listens for messages from now on. */
  | { kind: 'hello' }
  | { kind: 'ready' }
  | { kind: 'pong'; lastConnection: number }
  /** Answers `reload`: why the previous configuration stays in use; null if it does not. */
  | { kind: 'reloaded'; error: string | null }
  /** A connection has arrived and will be served. */
  | { kind: 'accepted'; id: number }
  | { kind: 'counted'; counted: Counted }
  | { kind: 'failed'; code: ErrorCode; message: string; hint: string | null }
  /** Collect the metrics of all processes. */
  | { kind: 'gather'; id: number }
  | { kind: 'values'; id: number; values: MetricValues }
