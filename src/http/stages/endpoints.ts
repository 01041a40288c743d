import type { IncomingMessage } from 'node:http'
import { largestTrackBody } from '../../stages/track-request.ts'
import { canonicalPath } from '../../cache/target.ts'
import type { Answer } from '../answer.ts'
import { readBody, toBodyAnswer } from '../body.ts'
import { BuiltFile } from '../built-file.ts'
import type { Accepted } from '../front/guard.ts'
import { readStageCookies, sessionDigest } from './cookies.ts'
import { TrackEndpoint } from './track.ts'
import {
  failure,
  refusal,
  success,
  type StageEndpoints,
  type StagePath,
  type StageRequest,
  type StagesOptions,
} from './request.ts'

/** The storefront script. Browsers revalidate it after ten minutes. */
const script = new BuiltFile('stages/client.js', [
  ['Cache-Control', 'public, max-age=600'],
  ['Content-Type', 'text/javascript; charset=utf-8'],
])

export function stageEndpoints(options: StagesOptions): StageEndpoints {
  const track = new TrackEndpoint(options)
  // An unexpected error must not end the daemon.
  const guarded = <T>(work: () => Promise<T>) => work().catch((error: unknown) => failure(error, options))
  return {
    track: (request, accepted, path) => {
      const stageRequest = toStageRequest(request, accepted)
      return guarded(async () => track.refuse(stageRequest) ?? (await recordBody(request, stageRequest, path, track)))
    },
    active: (request, accepted, path) => {
      const stageRequest = toStageRequest(request, accepted)
      return guarded(async () =>
        track.admit(stageRequest)
          ? await findActive(stageRequest, path, options)
          : refusal(429, 'Too many requests.', [['Retry-After', '1']]),
      )
    },
    preview: (request, accepted) =>
      guarded(async () =>
        track.admit(toStageRequest(request, accepted))
          ? await findPreviewed(request, options)
          : refusal(429, 'Too many requests.', [['Retry-After', '1']]),
      ),
    script: (request) => guarded(() => script.answer(request)),
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

/** Null where the visitor left before the body had arrived. */
async function recordBody(
  request: IncomingMessage,
  stageRequest: StageRequest,
  path: StagePath,
  track: TrackEndpoint,
): Promise<Answer | null> {
  const body = await readBody(request, largestTrackBody)
  if (Buffer.isBuffer(body)) return track.record(stageRequest, path, body)
  if (body === 'aborted') return null
  return body === 'too-large' ? track.tooLarge() : toBodyAnswer(body)
}

/** The stage of a preview link. It counts nothing, sets no cookie, and its link expires. */
async function findPreviewed(request: IncomingMessage, options: StagesOptions): Promise<Answer | null> {
  const body = await readBody(request, largestTrackBody)
  if (body === 'aborted') return null
  if (!Buffer.isBuffer(body)) return toBodyAnswer(body)
  const preview = await options.previewed(body.toString())
  if (preview === null) return refusal(403, 'This preview link is no longer valid. Make a new one.')
  const items = await options.tracker.findActive({ preview })
  return items.length === 0 ? refusal(404, 'This stage does not exist.') : success({ total: items.length, items })
}

/** Lists the stages that may be shown to this visitor now, considering frequency and `maxPerSession`. */
async function findActive(request: StageRequest, { channel }: StagePath, options: StagesOptions): Promise<Answer> {
  const query = new URLSearchParams(request.target.split('?').slice(1).join('?'))
  const { session, hidden } = readStageCookies(request.field('cookie'))
  try {
    const items = await options.tracker.findActive({
      salesChannelId: channel.id,
      pageType: query.get('pageType')?.slice(0, 64) || null,
      session: session === null ? null : sessionDigest(session),
      hidden,
    })
    return success({ total: items.length, items })
  } catch (error) {
    return failure(error, options)
  }
}
