import type { IncomingMessage } from 'node:http'
import { hasField } from '../cache/fields.ts'
import type { HeaderPair } from '../pages/page.ts'

/** Fields by which a proxy says that it forwards the request of another client. */
const forwarding = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
]

/** Whether a request says that a proxy has forwarded it. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  return forwarding.some((name) => headers[name] !== undefined)
}

/** Whether the fields of a request say that a proxy has forwarded it. */
export function areForwarded(headers: readonly HeaderPair[]): boolean {
  return forwarding.some((name) => hasField(headers, name))
}
