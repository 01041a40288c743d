import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { OwnPath } from '../../cache/own-path.ts'
import type { FrontOptions } from './front-options.ts'
import type { PassAnswer } from './pass-answer.ts'
import type { PassRequest } from './pass-request.ts'
import type { RequestRecord } from './request-record.ts'

/** Lets an endpoint of the daemon answer a GET or HEAD; false for requests that are left to Node's server. */
export function answerOwn(
  place: OwnPath,
  request: PassRequest,
  socket: Socket,
  options: Pick<FrontOptions, 'answerOwn'>,
  record: RequestRecord,
  answer: PassAnswer,
): boolean {
  const incoming = toIncoming(request, socket)
  if (incoming === null) return false
  record.setResult(place.kind === 'stage' ? 'stage' : 'own')
  options.answerOwn(place, incoming, record.accepted!, {
    send: (given, extra = []) =>
      answer.writeTogether(given, () => answer.send({ ...given, headers: [...given.headers, ...extra] })),
    invite: () => {},
    // Only a POST is forwarded.
    pass: () => Promise.resolve(false),
  })
  return true
}

/**
 * A GET or HEAD as Node's server would hand it over; null for any other request. Node combines repeated fields by rules of its own, so a
 * request that repeats one is left to it.
 */
function toIncoming({ method, head, body }: PassRequest, socket: Socket): IncomingMessage | null {
  if (body !== null || (method !== 'GET' && method !== 'HEAD')) return null
  const lines = head.headers
  const headers = Object.fromEntries(lines.map(([name, value]) => [name.toLowerCase(), value]))
  if (Object.keys(headers).length < lines.length) return null
  const incoming = new IncomingMessage(socket)
  Object.assign(incoming, { method, url: head.target, httpVersion: '1.1', headers, complete: true })
  // It has no body.
  incoming.push(null)
  return incoming
}
