import type { IncomingMessage, ServerResponse } from 'node:http'
import { PagecacheError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Channel, Channels } from '../proxy/channel.ts'
import type { StageCounts } from '../stages/counts.ts'
import type { Tracker } from '../stages/tracker.ts'
import type { Accepted } from './guard.ts'

/** What the storefront's stage endpoints work with. */
export interface StagesOptions {
  channels: Channels
  tracker: Tracker
  counts: StageCounts
  /** In lower case; believed from trusted proxies alone. Null: nobody says who is logged in. */
  customerHeader: string | null
  /** Whether a request without an Origin is refused too. */
  requireOrigin: boolean
  /** Requests a second; null for any number. */
  rateLimit: { perAddress: number | null; perStage: number | null; total: number | null }
  isTrusted(address: string | undefined): boolean
  now: Clock
  onError(message: string, error: unknown): void
}

/** A request to one of the endpoints, with its channel. */
export interface StageVisit {
  request: IncomingMessage
  response: ServerResponse
  accepted: Accepted
  channel: Channel
  /** The prefix of the endpoints on this channel: the path of our cookies. */
  path: string
}

/** An answer of ours: JSON that nobody keeps. */
export function reply({ request, response }: StageVisit, status: number, value: object, headers: Record<string, string | string[]> = {}): void {
  if (response.headersSent || response.destroyed) return
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Content-Length': body.length,
    'X-Content-Type-Options': 'nosniff',
    // A body that nobody reads must not be taken for the next request.
    ...(request.complete || !hasBody(request) ? {} : { Connection: 'close' }),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** A text, which goes out in one piece with its head. */
const success = '{"success":true}'
const successFields = ['Content-Type', 'application/json', 'Cache-Control', 'no-store', 'Content-Length', String(success.length), 'X-Content-Type-Options', 'nosniff']

/** The answer to an event, the same for all: made once. */
export function taken({ response }: StageVisit, cookies: readonly string[]): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(200, cookies.length === 0 ? successFields : [...successFields, ...cookies.flatMap((line) => ['Set-Cookie', line])])
  response.end(success)
}

export function refuse(visit: StageVisit, status: number, message: string, headers: Record<string, string> = {}): void {
  reply(visit, status, { success: false, message }, headers)
  // Read on and thrown away, so that the client sees the answer before the connection goes.
  visit.request.resume()
}

/** What went wrong behind us: the visitor learns that it did, the log learns what. */
export function fail(visit: StageVisit, options: Pick<StagesOptions, 'onError'>, error: unknown): void {
  if (error instanceof PagecacheError && error.status === 503) return refuse(visit, 503, 'Events cannot be written at the moment.', { 'Retry-After': '5' })
  options.onError('a stage request failed', error)
  refuse(visit, 500, 'Something went wrong here.')
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}
