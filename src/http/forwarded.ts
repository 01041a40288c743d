import type { IncomingMessage } from 'node:http'
import type { HeaderPair } from '../pages/page.ts'

/** Fields by which a proxy says that it forwards the request of another client. Some add no more than `X-Forwarded-Proto`. */
const forwarding =
  /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|fastly-client-ip)$/i

/** Whether a request says that a proxy has forwarded it. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) => forwarding.test(name))
}

/** Whether the fields of a request say that a proxy has forwarded it. */
export function areForwarded(headers: readonly HeaderPair[]): boolean {
  return headers.some(([name]) => forwarding.test(name))
}
