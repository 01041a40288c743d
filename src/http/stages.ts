import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Accepted } from './guard.ts'
import { awaitsContinue } from './respond.ts'
import { readStageCookies, sessionDigest } from './stage-cookies.ts'
import { serveStageScript } from './stage-script.ts'
import { TrackEndpoint } from './stage-track.ts'
import { fail, refuse, reply, type StagesOptions, type StageVisit } from './stage-visit.ts'

const prefix = '/vendor-stage/'

/** The stage endpoints of every channel: `track`, `active`, `client.js`. False for what is not theirs. */
export function stageEndpoints(options: StagesOptions): (request: IncomingMessage, response: ServerResponse, accepted: Accepted) => boolean {
  const endpoint = new TrackEndpoint(options)
  return (request, response, accepted) => {
    if (!accepted.target.includes(prefix)) return false
    const path = accepted.target.split('?', 1)[0]!
    const channel = options.channels.find(accepted.scheme, accepted.host, path)
    if (channel === null || !path.startsWith(channel.path + prefix)) return false
    const name = path.slice(channel.path.length + prefix.length)
    const visit = { request, response, accepted, channel, path: `${channel.path}${prefix.slice(0, -1)}` }
    if (awaitsContinue(request)) response.writeContinue()
    const { method } = request
    const reading = method === 'GET' || method === 'HEAD'
    if (name === 'track') {
      if (method === 'POST') void endpoint.track(visit)
      else refuse(visit, 405, 'Events are sent with POST.', { Allow: 'POST' })
    } else if (name === 'active' || name === 'client.js') {
      if (!reading) refuse(visit, 405, 'This is read with GET.', { Allow: 'GET, HEAD' })
      else if (name === 'active') void active(visit, options, endpoint)
      else void serveStageScript(visit)
    } else refuse(visit, 404, 'There is no such endpoint.')
    return true
  }
}

/** The stages that this visitor may be shown now (contract section 7). */
async function active(visit: StageVisit, options: StagesOptions, endpoint: TrackEndpoint): Promise<void> {
  const { request, accepted, channel } = visit
  if (!endpoint.admit(request)) return refuse(visit, 429, 'Too many requests.', { 'Retry-After': '1' })
  const query = new URLSearchParams(accepted.target.split('?').slice(1).join('?'))
  const { session, hidden } = readStageCookies(request.headers.cookie)
  try {
    const items = await options.tracker.findActive({
      salesChannelId: channel.id,
      pageType: query.get('pageType')?.slice(0, 64) || null,
      session: session === null ? null : sessionDigest(session),
      hidden,
    })
    reply(visit, 200, { success: true, total: items.length, items })
  } catch (error) {
    fail(visit, options, error)
  }
}
