import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { listElements, toPairs } from '../proxy/fields.ts'
import { isLoop, passHeaders, visibleHeaders, withAuthorization } from '../proxy/forward.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { classify } from '../proxy/question.ts'
import type { Visit } from '../proxy/visit.ts'
import { cutVisibly, refuse } from './refuse.ts'
import { renderHead } from './render.ts'

/** How long the shop may take to agree, and how long a tunnel stays open on which neither side says anything; milliseconds. */
const patience = 60_000
const silence = 10 * 60_000

/** To speak another HTTP with the shop would be to speak past everything that we look at. */
const ownAffair = /^(?:h2c?|http|tls)(?:\/|$)/

/** Whether a request to change the protocol goes to the shop. Others are answered as if they had not asked (RFC 9110 §7.8). */
export function mayTunnel(request: IncomingMessage): boolean {
  const wanted = listElements(request.headers.upgrade ?? null)
  return request.method === 'GET' && wanted.length > 0 && !wanted.some(protocol => ownAffair.test(protocol))
}

/** Hands an upgrade request (a WebSocket, say) to the shop and, when it agrees, carries bytes both ways, unread. */
export function tunnel(request: IncomingMessage, socket: Socket, head: Buffer, visit: Visit, proxy: Proxy): void {
  // Before Node 24.9 every request with Upgrade comes here.
  if (!mayTunnel(request)) return refuse(socket, 501, 'This Upgrade is not served here.')
  const classified = classify(visit, proxy.classifying)
  if (classified.kind === 'unknown-site') return refuse(socket, 421, `No sales channel is configured for ${visit.scheme}://${visit.host}.`)
  if (isLoop(visit.headers)) return refuse(socket, 508, 'This request has come through here before.')
  const channel = classified.kind === 'pass' ? classified.channel : classified.question.channel
  const origin = new URL(channel.origin)
  const outgoing = (origin.protocol === 'https:' ? requestTls : requestPlain)(origin, {
    method: visit.method,
    path: visit.target,
    headers: [...withAuthorization(passHeaders(visit), channel), ['Connection', 'Upgrade'], ['Upgrade', request.headers.upgrade!]].flat(),
    setHost: false,
    agent: false,
    timeout: patience,
  })
  socket.on('error', () => socket.destroy())
  socket.once('close', () => outgoing.destroy())
  outgoing.on('timeout', () => outgoing.destroy())
  outgoing.on('error', () => refuse(socket, 502, 'The shop could not be reached or broke off.'))
  outgoing.on('response', response => decline(response, socket))
  outgoing.on('upgrade', (response, shop, rest) => {
    outgoing.removeAllListeners('error')
    outgoing.on('error', () => socket.destroy())
    const headers = visibleHeaders(toPairs(response.rawHeaders))
    socket.write(renderHead(101, [...headers, ['Connection', 'Upgrade'], ['Upgrade', response.headers.upgrade ?? '']]))
    join(socket, head, shop, rest)
  })
  outgoing.end()
}

/** The shop did not agree: its answer is the answer, and nothing more is carried on this connection. */
function decline(response: IncomingMessage, socket: Socket): void {
  socket.write(renderHead(response.statusCode!, [...visibleHeaders(toPairs(response.rawHeaders)), ['Connection', 'close']]))
  socket.setTimeout(patience, () => socket.destroy())
  socket.resume()
  response.on('error', () => cutVisibly(socket))
  response.pipe(socket)
}

function join(socket: Socket, head: Buffer, shop: Duplex, rest: Buffer): void {
  shop.write(head)
  socket.write(rest)
  shop.pipe(socket)
  socket.pipe(shop)
  shop.on('error', () => socket.destroy())
  shop.once('close', () => socket.destroySoon())
  socket.once('close', () => shop.destroy())
  for (const side of [socket, shop as Socket]) side.setTimeout(silence, () => side.destroy())
}
