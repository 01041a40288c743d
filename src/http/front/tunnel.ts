import { request as requestPlain, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Socket } from 'node:net'
import { listElements, toPairs } from '../../cache/fields.ts'
import { isLoop, passHeaders, visibleHeaders, withAuthorization } from '../../cache/forward.ts'
import type { Channel } from '../../cache/channel.ts'
import { noChannel, originFailureAnswers, retrySoon } from '../../cache/refusal.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import { classify } from '../../cache/lookup.ts'
import type { Visit } from '../../cache/visit.ts'
import { cutVisibly, refuse } from './refuse.ts'
import { renderHead } from './render.ts'

/** Milliseconds that a silent tunnel stays open. */
const idleTimeout = 10 * 60_000
/** Milliseconds that a silent connection stays open while it gets the answer of a shop that did not agree. */
const declinedTimeout = 30_000
/** Milliseconds that a silent tunnel stays open after one side has ended, or during shutdown. */
const closingTimeout = 500

/** Bytes that are read from a client before the shop has agreed; more stay in its connection. */
const maxEarlyBytes = 64 * 1024

/** Never tunnelled: HTTP inside the tunnel would bypass the guard and the cache. */
const untunnelled = /^(?:h2c?|http|tls)(?:\/|$)/

/** Whether an upgrade request is forwarded to the shop. Other requests are answered as if they had no `Upgrade` (RFC 9110 §7.8). */
export function mayTunnel(request: IncomingMessage): boolean {
  const wanted = listElements(request.headers.upgrade ?? null)
  return request.method === 'GET' && wanted.length > 0 && !wanted.some((protocol) => untunnelled.test(protocol))
}

/** Tunnels to the shop, opened by upgrade requests such as WebSockets. */
export class Tunnels {
  /** Closes each open tunnel once it falls silent. */
  readonly #open = new Set<() => void>()
  #draining = false

  /** Closes each tunnel once it falls silent, since its traffic has no end of its own. */
  drain(): void {
    this.#draining = true
    for (const finish of this.#open) finish()
  }

  /** Forwards an upgrade request to the shop. If the shop agrees, relays bytes in both directions without reading them. */
  open(request: IncomingMessage, socket: Socket, head: Buffer, sent: Visit, cache: StorefrontCache): void {
    const visit = cache.classifying.variants.classes.classified(sent)
    // Before Node 24.9 every request with Upgrade arrives here.
    if (!mayTunnel(request)) return refuse(socket, 501, 'This Upgrade is not supported.')
    const classified = classify(visit, cache.classifying)
    if (classified.kind === 'unknown-site') return refuse(socket, 421, noChannel(visit))
    // Arrives here only before Node 24.9.
    if (classified.kind === 'own') return refuse(socket, 501, 'This Upgrade is not supported.')
    if (isLoop(visit.headers)) return refuse(socket, 508, 'This request has passed through this cache before.')
    const { channel } = classified.kind === 'lookup' ? classified.lookup : classified
    socket.on('error', () => socket.destroy())
    const early = bufferEarlyBytes(socket, head)
    // The shop counts the request until it has answered. An open tunnel costs it little.
    const slot = cache.origin.enter(channel.origin, {
      admitted: () => {
        const outgoing = this.#ask(request, visit, channel)
        this.#await(outgoing, socket, early, cache.origin.headTimeouts)
        for (const event of ['response', 'upgrade', 'close']) outgoing.once(event, () => slot.leave())
      },
      refused: ({ failure }) => {
        early.stop()
        refuse(socket, ...originFailureAnswers[failure], retrySoon)
      },
    })
    socket.once('close', () => slot.leave())
  }

  #ask(request: IncomingMessage, visit: Visit, channel: Channel): ClientRequest {
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
    outgoing.end()
    return outgoing
  }

  /** Waits for the shop's answer while the client stays connected. `limits`: see `OriginClient`. */
  #await(
    outgoing: ClientRequest,
    socket: Socket,
    early: EarlyBytes,
    limits: { connect: number; headers: number },
  ): void {
    const fail = (status: number, text: string) => {
      clearTimeout(timer)
      early.stop()
      refuse(socket, status, text)
    }
    const giveUp = () => {
      outgoing
        .off('error', unreachable)
        .on('error', () => {})
        .destroy()
      fail(504, 'The shop did not respond in time.')
    }
    let timer = setTimeout(giveUp, limits.connect)
    outgoing.once('finish', () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, limits.headers)
    })
    const unreachable = () => fail(502, 'The shop is unreachable or sent an invalid response.')
    socket.setTimeout(0)
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
      const headers = visibleHeaders({ status: 101, headers: toPairs(response.rawHeaders) })
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
    const finish = () => sides.forEach((side) => side.setTimeout(closingTimeout))
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
      side.setTimeout(idleTimeout, () => sides.forEach((each) => each.destroySoon()))
      // The other side may still have something to send, but rarely does.
      side.once('end', finish)
    }
    if (this.#draining) finish()
  }
}

interface EarlyBytes {
  /** Stops and returns the bytes. */
  stop(): Buffer
}

/**
 * Buffers what a client sends before the shop has agreed. Reading is also the only way to notice that it has left: a client
 * that ends its side before the tunnel is open has.
 */
function bufferEarlyBytes(socket: Socket, head: Buffer): EarlyBytes {
  const chunks = [head]
  let size = 0
  const onData = (bytes: Buffer) => {
    chunks.push(bytes)
    size += bytes.length
    if (size > maxEarlyBytes) socket.pause()
  }
  const onEnd = () => socket.destroy()
  socket.on('data', onData).once('end', onEnd)
  return {
    stop: () => {
      socket.off('data', onData).off('end', onEnd)
      return Buffer.concat(chunks)
    },
  }
}

/** Relays the answer of a shop that did not agree, and closes the connection. */
function decline(response: IncomingMessage, socket: Socket): void {
  const status = response.statusCode!
  const headers = visibleHeaders({ status, headers: toPairs(response.rawHeaders) })
  socket.write(renderHead(status, [...headers, ['Connection', 'close']]))
  socket.setTimeout(declinedTimeout, () => socket.destroy())
  socket.once('end', () => socket.destroy())
  socket.resume()
  response.on('error', () => cutVisibly(socket))
  response.pipe(socket)
}
