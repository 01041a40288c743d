import type { CustomerTokens } from '../../auth/customer-tokens.ts'
import type { CustomerTokenSettings } from '../../config/schema.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { PagecacheError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SharedCounts } from '../../lib/shared-counts.ts'
import type { Channels } from '../../cache/channel.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import type { StageCounts } from '../../stages/counts.ts'
import type { Tracker } from '../../stages/tracker.ts'
import type { Accepted } from '../front/guard.ts'

/** Settings and services of the storefront's stage endpoints. */
export interface StagesOptions {
  channels: Channels
  tracker: Tracker
  counts: StageCounts
  /** The header with the customer's id, in lower case; only accepted from trusted proxies. Null: no such header. */
  customerHeader: string | null
  /** Where the visitor's token is; only used after `customerTokens` has verified it. */
  customerToken: Pick<CustomerTokenSettings, 'cookie' | 'header'>
  /** Null: tokens are ignored. */
  customerTokens: Pick<CustomerTokens, 'read'> | null
  /** Whether a request without `Origin` is refused. */
  requireOrigin: boolean
  /** Requests per second; null: unlimited. */
  rateLimit: { perAddress: number | null; perStage: number | null; total: number | null }
  /** Counts shared by the processes of the daemon; null in a single process. */
  shared: SharedCounts | null
  isTrusted(address: string | undefined): boolean
  now: Clock
  onError(message: string, error: unknown): void
}

/** A request to a stage endpoint, read by Node's server or from the socket. */
export interface StageRequest extends Accepted {
  /** The peer's address; undefined on a Unix socket. */
  address: string | undefined
  /** Returns a request field by its lower-case name. */
  field(name: string): string | null
}

/** The path of a channel's stage endpoint. */
export type StagePath = Extract<OwnPath, { kind: 'stage' }>

/** A JSON answer that must not be cached. */
export interface StageAnswer {
  status: number
  body: string
  /** Fields in addition to the common ones. */
  headers: HeaderPair[]
}

/** All fields of an answer. */
export function fieldsOf({ body, headers }: StageAnswer): HeaderPair[] {
  return [
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['X-Content-Type-Options', 'nosniff'],
    ...headers,
  ]
}

export function refusal(status: number, message: string, headers: HeaderPair[] = []): StageAnswer {
  return { status, body: JSON.stringify({ success: false, message }), headers }
}

/** The answer to an internal error. The cause is only logged. */
export function failure(error: unknown, { onError }: Pick<StagesOptions, 'onError'>): StageAnswer {
  if (error instanceof PagecacheError && error.status === 503)
    return refusal(503, 'Events cannot be stored at the moment.', [['Retry-After', '5']])
  onError('Could not answer a stage request', error)
  return refusal(500, 'Internal error.')
}
