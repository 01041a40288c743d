import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/** Parameters that carry a secret: a URL is written into logs and histories on its way. */
const secretParameter = /^(access_token|client_secret|token)$/i

/** Whether the query of a URL carries a token or a secret. */
export function carriesSecret(query: URLSearchParams): boolean {
  return [...query.keys()].some((name) => secretParameter.test(name))
}

/** Null where the URL has none. */
export function queryOf(request: IncomingMessage): URLSearchParams | null {
  const url = request.url!
  const mark = url.indexOf('?')
  return mark < 0 ? null : new URLSearchParams(url.slice(mark + 1))
}

/**
 * Whether a browser sends this for a page of another site, which may be done without asking us first (a form post). Other clients
 * send neither field.
 */
export function isFromForeignPage({ headers }: IncomingMessage, ownHosts: readonly string[]): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin } = headers
  if (origin === undefined || site === 'same-origin') return false
  return !URL.canParse(origin) || !ownHosts.includes(new URL(origin).host)
}

/** The token of an `Authorization: Bearer` field (RFC 6750 §2.1); null without one, undefined where the field is another one. */
export function bearerOf({ headers }: IncomingMessage): string | null | undefined {
  if (headers.authorization === undefined) return null
  return /^Bearer +([^\s,]+) *$/i.exec(headers.authorization)?.[1]
}

/** The client's address: what stands before the last trusted proxy. */
export function addressOf(request: IncomingMessage, isTrusted: (address: string | undefined) => boolean): string {
  // A Unix socket has none.
  const peer = request.socket.remoteAddress
  const forwarded = request.headers['x-forwarded-for']
  if (!isTrusted(peer) || typeof forwarded !== 'string') return peer ?? ''
  const hops = forwarded
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => isIP(hop) !== 0)
  return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer ?? ''
}
