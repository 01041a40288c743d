import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { passHeaders } from '../proxy/forward.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { classify } from '../proxy/question.ts'
import type { Visit } from '../proxy/visit.ts'

/** A tunnel on which neither side said anything for so long is closed, in milliseconds. */
const silence = 10 * 60_000

/** Hands an upgrade request (a WebSocket, say) to the shop and then carries bytes both ways, unread. */
export function tunnel(request: IncomingMessage, socket: Socket, head: Buffer, visit: Visit, proxy: Proxy): void {
  const classified = classify(visit, proxy.classifying)
  if (classified.kind === 'unknown-site') {
    socket.end('HTTP/1.1 421 Misdirected Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    return
  }
  const channel = classified.kind === 'pass' ? classified.channel : classified.question.channel
  const origin = new URL(channel.origin)
  const place = { host: origin.hostname, port: Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80) }
  const shop = origin.protocol === 'https:' ? connectTls({ ...place, servername: origin.hostname }) : connect(place)
  const connected = origin.protocol === 'https:' ? 'secureConnect' : 'connect'
  let established = false
  shop.once(connected, () => {
    established = true
    const fields = [...passHeaders(visit, channel), ['connection', 'upgrade'], ['upgrade', request.headers.upgrade ?? '']]
    shop.write(`${visit.method} ${visit.target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`, 'latin1')
    shop.write(head)
    shop.pipe(socket)
    socket.pipe(shop)
  })
  shop.on('error', () => {
    if (!established) socket.write('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    socket.destroySoon()
  })
  socket.on('error', () => shop.destroy())
  socket.on('close', () => shop.destroy())
  shop.on('close', () => socket.destroySoon())
  for (const side of [socket, shop]) side.setTimeout(silence, () => side.destroy())
}
