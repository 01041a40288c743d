import type { IncomingMessage, ServerResponse } from 'node:http'
import { largestTrackBody } from '../../stages/track-request.ts'
import { canonicalPath } from '../../cache/target.ts'
import { BuiltFile } from '../built-file.ts'
import type { Accepted } from '../front/guard.ts'
import { readSmallBody } from '../read-small-body.ts'
import { awaitsContinue, isReading } from '../front/respond.ts'
import { readStageCookies, sessionDigest } from './cookies.ts'
import { TrackEndpoint } from './track.ts'
import {
  failure,
  fieldsOf,
  refusal,
  type StageAnswer,
  type StagePath,
  type StageRequest,
  type StagesOptions,
} from './request.ts'

/** The storefront script. Browsers revalidate it after ten minutes. */
const script = new BuiltFile('stages/client.js', {
  'Cache-Control': 'public, max-age=600',
  'Content-Type': 'text/javascript; charset=utf-8',
})

/** The stage endpoints of every channel: `track`, `active`, `client.js`. */
export interface StageEndpoints {
  /** Answers a request that Node's server has read. */
  serve(request: IncomingMessage, response: ServerResponse, accepted: Accepted, path: StagePath): void
  /** Answers a POST that was read from the socket; null where it is not an event. */
  take(request: StageRequest, body: Buffer): Promise<StageAnswer> | null
}

export function stageEndpoints(options: StagesOptions): StageEndpoints {
  const track = new TrackEndpoint(options)
  // An unexpected error must not end the daemon.
  const guarded = <T>(work: () => Promise<T>) => work().catch((error: unknown) => failure(error, options))
  return {
    serve: (request, response, accepted, path) => {
      if (awaitsContinue(request)) response.writeContinue()
      if (path.name === 'client.js' && isReading(request)) {
        script.serve(request, response).catch((error: unknown) => send(request, response, failure(error, options)))
        return
      }
      void guarded(() => answer(request, toStageRequest(request, accepted), path, options, track)).then(
        (result) => result !== null && send(request, response, result),
      )
    },
    take: (request, body) => {
      const path = options.channels.ownPath(request.scheme, request.host, canonicalPath(request.target))
      if (path?.kind !== 'stage' || path.name !== 'track') return null
      return guarded(async () => track.refuse(request) ?? (await track.record(request, path, body)))
    },
  }
}

function toStageRequest({ headers, socket }: IncomingMessage, accepted: Accepted): StageRequest {
  return {
    ...accepted,
    address: socket.remoteAddress,
    field: (name) => {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : (value ?? null)
    },
  }
}

/** Null where the visitor left in the middle of the request. */
async function answer(
  request: IncomingMessage,
  stageRequest: StageRequest,
  path: StagePath,
  options: StagesOptions,
  track: TrackEndpoint,
): Promise<StageAnswer | null> {
  if (path.name === 'track') {
    if (request.method !== 'POST') return refusal(405, 'Send events with POST.', [['Allow', 'POST']])
    return track.refuse(stageRequest) ?? (await recordBody(request, stageRequest, path, track))
  }
  if (path.name !== 'active' && path.name !== 'client.js') return refusal(404, 'This endpoint does not exist.')
  if (!isReading(request)) return refusal(405, 'Only GET and HEAD are allowed.', [['Allow', 'GET, HEAD']])
  return track.admit(stageRequest)
    ? await findActive(stageRequest, path, options)
    : refusal(429, 'Too many requests.', [['Retry-After', '1']])
}

async function recordBody(
  request: IncomingMessage,
  stageRequest: StageRequest,
  path: StagePath,
  track: TrackEndpoint,
): Promise<StageAnswer | null> {
  const body = await readSmallBody(request, largestTrackBody)
  if (body === 'gone') return null
  if (body === 'slow') return refusal(408, 'The request came too slowly.')
  return body === 'too large' ? track.tooLarge() : await track.record(stageRequest, path, body)
}

/** Lists the stages that may be shown to this visitor now, considering frequency and `maxPerSession`. */
async function findActive(request: StageRequest, { channel }: StagePath, options: StagesOptions): Promise<StageAnswer> {
  const query = new URLSearchParams(request.target.split('?').slice(1).join('?'))
  const { session, hidden } = readStageCookies(request.field('cookie'))
  try {
    const items = await options.tracker.findActive({
      salesChannelId: channel.id,
      pageType: query.get('pageType')?.slice(0, 64) || null,
      session: session === null ? null : sessionDigest(session),
      hidden,
    })
    return { status: 200, body: JSON.stringify({ success: true, total: items.length, items }), headers: [] }
  } catch (error) {
    return failure(error, options)
  }
}

function send(request: IncomingMessage, response: ServerResponse, result: StageAnswer): void {
  // Discard the rest of the body, so that the client sees the answer before the connection closes.
  request.resume()
  if (response.headersSent || response.destroyed) return
  const fields = fieldsOf(result)
  // The rest of an unread body must not be parsed as the next request.
  if (!request.complete && hasBody(request)) response.shouldKeepAlive = false
  response.writeHead(result.status, fields.flat())
  // Node sends a string body in one write with its head.
  response.end(request.method === 'HEAD' ? undefined : result.body)
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}
