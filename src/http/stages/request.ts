import type { IncomingMessage } from 'node:http'
import type { CustomerTokens } from '../../auth/customer-tokens.ts'
import type { CustomerTokenSettings } from '../../config/schema.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { PagecacheError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SharedCounts } from '../../lib/shared-counts.ts'
import type { Channels } from '../../cache/channels.ts'
import type { OwnPath } from '../../cache/own-path.ts'
import type { StageCounts } from '../../stages/counts.ts'
import type { Tracker } from '../../stages/tracker.ts'
import { errorAnswer, jsonAnswer, type Answer, type WholeAnswer } from '../answer.ts'
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
  /** Verifies the token of a preview link: the id of its stage; null if it shows none. */
  previewed(token: string): Promise<string | null>
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

/** The stage endpoints of every channel. */
export interface StageEndpoints {
  /** Records the event in the body of a POST; null where the visitor left before it had arrived. */
  track(request: IncomingMessage, accepted: Accepted, path: StagePath): Promise<Answer | null>
  /** Lists the stages that may be shown to a visitor now. */
  active(request: IncomingMessage, accepted: Accepted, path: StagePath): Promise<Answer>
  /** The stage that the token in the body of a POST shows; null where the visitor left before it had arrived. */
  preview(request: IncomingMessage, accepted: Accepted): Promise<Answer | null>
  /** The storefront script. */
  script(request: IncomingMessage): Promise<Answer>
  /** Answers a POST that was read from the socket; null where it is not an event. */
  take(request: StageRequest, body: Buffer): Promise<WholeAnswer> | null
}

const nosniff: HeaderPair = ['X-Content-Type-Options', 'nosniff']

/** 200 with a JSON value. */
export function success(value: object, headers: readonly HeaderPair[] = []): WholeAnswer {
  return jsonAnswer(200, { success: true, ...value }, [nosniff, ...headers])
}

export function refusal(status: number, message: string, headers: readonly HeaderPair[] = []): WholeAnswer {
  return errorAnswer(status, message, [nosniff, ...headers])
}

/** The answer to an internal error, or to records that cannot be used. The cause is only logged. */
export function failure(error: unknown, { onError }: Pick<StagesOptions, 'onError'>): WholeAnswer {
  const isOfRecords = error instanceof PagecacheError && error.code.startsWith('STORE_')
  if (!isOfRecords || error.status !== 503) onError('Could not answer a stage request', error)
  if (isOfRecords) return refusal(503, 'Events cannot be stored at the moment.', [['Retry-After', '5']])
  return refusal(500, 'Internal error.')
}
