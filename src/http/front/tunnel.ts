import { request as requestPlain, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Socket } from 'node:net'
import { listElements, toPairs } from '../../cache/fields.ts'
import { isLoop, passHeaders, visibleHeaders, withAuthorization } from '../../cache/forward.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import { classify } from '../../cache/lookup.ts'
import type { Visit } from '../../cache/visit.ts'
import { cutVisibly, refuse } from './refuse.ts'
import { renderHead } from './render.ts'

/** How long the shop may take to agree, and how long a tunnel stays open on which neither side says anything; milliseconds. */
const patience = 30_000
const silence = 10 * 60_000

/** How long neither side may say anything once one of them has said its last word, or the daemon is to end; milliseconds. */
const lastSilence = 500

/** What a client may say before the shop has agreed, in bytes; further bytes wait in its connection. */
const mostEarly = 64 * 1024

/** To speak another HTTP with the shop would be to speak past everything that we look at. */
const ownAffair = /^(?:h2c?|http|tls)(?:\/|$)/

/** Whether a request to change the protocol goes to the shop. Others are answered as if they had not asked (RFC 9110 §7.8). */
export function mayTunnel(request: IncomingMessage): boolean {
  const wanted = listElements(request.headers.upgrade ?? null)
  return request.method === 'GET' && wanted.length > 0 && !wanted.some((protocol) => ownAffair.test(protocol))
}

/** Upgrade requests (WebSockets, say) and the tunnels that come of them. */
export class Tunnels {
  /** Ends each open tunnel as soon as nothing is said in it. */
  readonly #open = new Set<() => void>()
  #draining = false

  /** Open tunnels end as soon as nothing is said in them: what they carry has no end of its own. */
  drain(): void {
    this.#draining = true
    for (const finish of this.#open) finish()
  }

  /** Hands an upgrade request to the shop and, when it agrees, carries bytes both ways, unread. */
  open(request: IncomingMessage, socket: Socket, head: Buffer, visit: Visit, cache: StorefrontCache): void {
    // Before Node 24.9 every request with Upgrade comes here.
    if (!mayTunnel(request)) return refuse(socket, 501, 'This Upgrade is not served here.')
    const classified = classify(visit, cache.classifying)
    if (classified.kind === 'unknown-site')
      return refuse(socket, 421, `No sales channel is configured for ${visit.scheme}://${visit.host}.`)
    // Only before Node 24.9, where every request with Upgrade comes here.
    if (classified.kind === 'own') return refuse(socket, 501, 'This Upgrade is not served here.')
    if (isLoop(visit.headers)) return refuse(socket, 508, 'This request has come through here before.')
    const channel = classified.kind === 'pass' ? classified.channel : classified.lookup.channel
    const origin = new URL(channel.origin)
    const outgoing = (origin.protocol === 'https:' ? requestTls : requestPlain)(origin, {
      method: visit.method,
      path: visit.target,
      headers: [
        ...withAuthorization(passHeaders(visit), channel),
        ['Connection', 'Upgrade'],
        ['Upgrade', request.headers.upgrade!],
      ].flat(),
      setHost: false,
      agent: false,
    })
    this.#await(outgoing, socket, head)
    outgoing.end()
  }

  /** Waits for the shop's answer, for as long as the client does. */
  #await(outgoing: ClientRequest, socket: Socket, head: Buffer): void {
    const early = listen(socket, head)
    const fail = (status: number, text: string) => {
      clearTimeout(timer)
      early.stop()
      refuse(socket, status, text)
    }
    const timer = setTimeout(() => {
      outgoing
        .off('error', unreachable)
        .on('error', () => {})
        .destroy()
      fail(504, 'The shop did not respond in time.')
    }, patience)
    const unreachable = () => fail(502, 'The shop is unreachable or sent an invalid response.')
    socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    // A client that has said its last word before there is a tunnel has left.
    socket.once('end', () => outgoing.destroyed || socket.destroy())
    socket.once('close', () => {
      clearTimeout(timer)
      outgoing.destroy()
    })
    outgoing.on('error', unreachable)
    outgoing.on('response', (response) => {
      clearTimeout(timer)
      early.stop()
      decline(response, socket)
    })
    outgoing.on('upgrade', (response, shop: Socket, rest) => {
      clearTimeout(timer)
      outgoing.off('error', unreachable).on('error', () => socket.destroy())
      socket.removeAllListeners('end')
      const headers = visibleHeaders(toPairs(response.rawHeaders))
      socket.write(
        renderHead(101, [...headers, ['Connection', 'Upgrade'], ['Upgrade', response.headers.upgrade ?? '']]),
      )
      shop.write(early.stop())
      socket.write(rest)
      this.#join(socket, shop)
    })
  }

  #join(socket: Socket, shop: Socket): void {
    const sides = [socket, shop]
    const finish = () => sides.forEach((side) => side.setTimeout(lastSilence))
    this.#open.add(finish)
    shop.pipe(socket)
    socket.pipe(shop)
    shop.on('error', () => socket.destroy())
    shop.once('close', () => socket.destroySoon())
    socket.once('close', () => {
      this.#open.delete(finish)
      shop.destroy()
    })
    for (const side of sides) {
      side.setTimeout(silence, () => sides.forEach((each) => each.destroySoon()))
      // The other one has heard it and may still have something to say; most have not.
      side.once('end', finish)
    }
    if (this.#draining) finish()
  }
}

/** Hears a client while the shop has not agreed: what it says, and above all that it leaves, which a connection that is not read does not tell. */
function listen(socket: Socket, head: Buffer): { stop(): Buffer } {
  const said = [head]
  let size = 0
  const hear = (bytes: Buffer) => {
    said.push(bytes)
    size += bytes.length
    if (size > mostEarly) socket.pause()
  }
  socket.on('data', hear)
  return {
    /** What it has said. */
    stop: () => {
      socket.off('data', hear)
      return Buffer.concat(said)
    },
  }
}

/** The shop did not agree: its answer is the answer, and nothing more is carried on this connection. */
function decline(response: IncomingMessage, socket: Socket): void {
  socket.write(
    renderHead(response.statusCode!, [...visibleHeaders(toPairs(response.rawHeaders)), ['Connection', 'close']]),
  )
  socket.setTimeout(patience, () => socket.destroy())
  socket.resume()
  response.on('error', () => cutVisibly(socket))
  response.pipe(socket)
}
