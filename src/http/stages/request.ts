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

/** What the storefront's stage endpoints work with. */
export interface StagesOptions {
  channels: Channels
  tracker: Tracker
  counts: StageCounts
  /** In lower case; believed from trusted proxies alone. Null: nobody says who is logged in. */
  customerHeader: string | null
  /** Where a visitor's token is; believed once `customerTokens` has verified it. */
  customerToken: Pick<CustomerTokenSettings, 'cookie' | 'header'>
  /** Null: tokens say nothing. */
  customerTokens: Pick<CustomerTokens, 'read'> | null
  /** Whether a request without an Origin is refused too. */
  requireOrigin: boolean
  /** Requests a second; null for any number. */
  rateLimit: { perAddress: number | null; perStage: number | null; total: number | null }
  /** What the processes of a daemon count together; null where there is one. */
  shared: SharedCounts | null
  isTrusted(address: string | undefined): boolean
  now: Clock
  onError(message: string, error: unknown): void
}

/** A request to one of the endpoints, whoever read it: Node, or we off the socket. */
export interface StageRequest extends Accepted {
  /** The peer; undefined where a Unix socket has none. */
  address: string | undefined
  /** A request field by its lower-case name. */
  field(name: string): string | null
}

/** A stage endpoint of a channel. */
export type StagePlace = Extract<OwnPath, { kind: 'stage' }>

/** JSON that nobody keeps. */
export interface StageAnswer {
  status: number
  body: string
  /** Fields beside those that all have. */
  headers: HeaderPair[]
}

/** The fields of an answer, in full. */
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

/** What went wrong behind us: the visitor learns that it did, the log learns what. */
export function failure(error: unknown, { onError }: Pick<StagesOptions, 'onError'>): StageAnswer {
  if (error instanceof PagecacheError && error.status === 503)
    return refusal(503, 'Events cannot be written at the moment.', [['Retry-After', '5']])
  onError('a stage request failed', error)
  return refusal(500, 'Something went wrong here.')
}
