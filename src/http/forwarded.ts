import type { IncomingMessage } from 'node:http'
import type { HeaderPair } from '../pages/page.ts'

/** Fields by which a proxy says that it forwards the request of another client. Some add no more than `X-Forwarded-Proto`. */
const forwarding =
  /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|fastly-client-ip)$/i

/** Whether a request says that a proxy has forwarded it. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) => forwarding.test(name))
}

/** The first field of a request that says that a proxy has forwarded it. */
export function forwardingField(headers: readonly HeaderPair[]): string | null {
  return headers.find(([name]) => forwarding.test(name))?.[0] ?? null
}
