import type { ErrorCode } from '../errors.ts'
import type { Place } from './listen.ts'
import type { MetricValues } from './metrics.ts'

/** What the processes of a daemon tell each other. */
export type FromParent =
  | { kind: 'begin'; serves: boolean; works: boolean; port: number; place: Exclude<Place, { kind: 'tcp' }> | null }
  | { kind: 'reload' }
  | { kind: 'stop' }
  /** Tell your metrics. */
  | { kind: 'measure'; id: number }
  /** Everybody's metrics, as they were asked for. */
  | { kind: 'measured'; id: number; processes: MetricValues[] }

export type FromChild =
  /** Listens to what it is told from now on. */
  | { kind: 'hello' }
  | { kind: 'ready'; url: string | null }
  | { kind: 'failed'; code: ErrorCode; message: string; hint: string | null }
  | { kind: 'gather'; id: number }
  | { kind: 'values'; id: number; values: MetricValues }
