import type { IncomingMessage } from 'node:http'

/** Fields by which a proxy says that it forwards the request of another client. */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/** Whether a request says that a proxy has forwarded it. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  return forwarding.some((name) => headers[name] !== undefined)
}
