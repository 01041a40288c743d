import type { IncomingMessage, ServerResponse } from 'node:http'
import { largestTrackBody } from '../../stages/track-request.ts'
import { canonicalPath } from '../../cache/target.ts'
import { BuiltFile } from '../built-file.ts'
import type { Accepted } from '../front/guard.ts'
import { readSmallBody } from '../read-small-body.ts'
import { isReading } from '../front/respond.ts'
import { send as sendAnswer } from '../send.ts'
import { readStageCookies, sessionDigest } from './cookies.ts'
import { TrackEndpoint } from './track.ts'
import {
  failure,
  fieldsOf,
  refusal,
  type StageAnswer,
  type StagePlace,
  type StageRequest,
  type StagesOptions,
} from './request.ts'

/** The storefront script. Browsers ask for it again after ten minutes. */
const script = new BuiltFile('stages/client.js', [
  ['Cache-Control', 'public, max-age=600'],
  ['Content-Type', 'text/javascript; charset=utf-8'],
])

/** The stage endpoints of every channel: `track`, `active`, `client.js`. */
export interface StageEndpoints {
  /** Answers over Node's HTTP. */
  serve(request: IncomingMessage, response: ServerResponse, accepted: Accepted, place: StagePlace): void
  /** Takes a POST that was read off its socket; null for what is no event. */
  take(request: StageRequest, body: Buffer): Promise<StageAnswer> | null
}

export function stageEndpoints(options: StagesOptions): StageEndpoints {
  const endpoint = new TrackEndpoint(options)
  // Whatever a visitor sends, no fault of ours ends the daemon.
  const guarded = <Answer>(work: () => Promise<Answer>) => work().catch((error: unknown) => failure(error, options))
  return {
    serve: (request, response, accepted, place) => {
      if (place.name === 'client.js' && isReading(request)) {
        script.answer(request).then(
          (answer) => sendAnswer(response, answer),
          (error: unknown) => send(request, response, failure(error, options)),
        )
        return
      }
      void guarded(() => answer(request, toStageRequest(request, accepted), place, options, endpoint)).then(
        (given) => given !== null && send(request, response, given),
      )
    },
    take: (request, body) => {
      const place = options.channels.ownPath(request.scheme, request.host, canonicalPath(request.target))
      if (place?.kind !== 'stage' || place.name !== 'track') return null
      return guarded(async () => endpoint.refuse(request) ?? (await endpoint.take(request, place, body)))
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

/** Null where the visitor has gone in the midst of the request. */
async function answer(
  request: IncomingMessage,
  asked: StageRequest,
  place: StagePlace,
  options: StagesOptions,
  endpoint: TrackEndpoint,
): Promise<StageAnswer | null> {
  if (place.name === 'track') {
    if (request.method !== 'POST') return refusal(405, 'Events are sent with POST.', [['Allow', 'POST']])
    return endpoint.refuse(asked) ?? (await takeBody(request, asked, place, endpoint))
  }
  if (place.name !== 'active' && place.name !== 'client.js') return refusal(404, 'There is no such endpoint.')
  if (!isReading(request)) return refusal(405, 'This is read with GET.', [['Allow', 'GET, HEAD']])
  return endpoint.admit(asked)
    ? await findActive(asked, place, options)
    : refusal(429, 'Too many requests.', [['Retry-After', '1']])
}

async function takeBody(
  request: IncomingMessage,
  asked: StageRequest,
  place: StagePlace,
  endpoint: TrackEndpoint,
): Promise<StageAnswer | null> {
  const body = await readSmallBody(request, largestTrackBody)
  if (body === 'gone') return null
  if (body === 'slow') return refusal(408, 'The request came too slowly.')
  return body === 'too large' ? endpoint.tooLarge() : await endpoint.take(asked, place, body)
}

/** The stages that this visitor may be shown now (contract section 7). */
async function findActive(
  request: StageRequest,
  { channel }: StagePlace,
  options: StagesOptions,
): Promise<StageAnswer> {
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

function send(request: IncomingMessage, response: ServerResponse, given: StageAnswer): void {
  // Read on and thrown away, so that the client sees the answer before the connection goes.
  request.resume()
  if (response.headersSent || response.destroyed) return
  const fields = fieldsOf(given)
  // A body that nobody reads must not be taken for the next request.
  if (!request.complete && hasBody(request)) response.shouldKeepAlive = false
  response.writeHead(given.status, fields.flat())
  // As text it goes out in one piece with its head.
  response.end(request.method === 'HEAD' ? undefined : given.body)
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0'
}
