import type { IncomingMessage } from 'node:http'
import type { H3, H3Event } from 'h3'
import type { Answer } from '../answer.ts'
import { addRoutes, type Handler } from '../api/route.ts'
import type { Accepted } from '../front/guard.ts'
import type { StageEndpoints, StagePath } from './request.ts'

/** Adds the stage endpoints. Events usually bypass them: they are read from the socket (docs/decisions/0039-events-from-the-socket.md). */
export function addStages(app: H3, { track, active, preview, script }: StageEndpoints): void {
  addRoutes(app, '/vendor-stage/track', { POST: onChannel(track) })
  addRoutes(app, '/vendor-stage/active', { GET: onChannel(active) })
  addRoutes(app, '/vendor-stage/preview', { POST: onChannel(preview) })
  addRoutes(app, '/vendor-stage/client.js', { GET: onChannel(script) })
}

type StageHandler = (request: IncomingMessage, accepted: Accepted, path: StagePath) => Promise<Answer | null>

function onChannel(handle: StageHandler): Handler {
  return ({ context }: H3Event) => {
    const { request, accepted, place } = context.exchange
    if (place.kind !== 'stage') throw new TypeError(`${place.path} belongs to no sales channel`)
    return handle(request, accepted, place)
  }
}
