import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Identity, Judge, Scope } from '../../auth/judgement.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import type { Accepted } from '../front/guard.ts'

type IsTrusted = (address: string | undefined) => boolean

/** How a caller is authenticated. */
export interface CallerOptions {
  /** Judges bearer tokens; opened with the first request that needs it. */
  judge(): Promise<Judge>
  isTrusted: IsTrusted
}

/** Query parameters that carry a secret. URLs end up in logs and browser histories. */
const secretParameter = /^(access_token|client_secret|token)$/i

/** Whether the query of a URL carries a token or a secret. */
export function carriesSecret(query: URLSearchParams): boolean {
  return [...query.keys()].some((name) => secretParameter.test(name))
}

/**
 * Whether a browser sends a request for a page of another site. A browser sends some of them without asking the daemon first (a form post),
 * and names the site; other clients send neither field.
 */
export function isFromForeignPage({ headers }: IncomingMessage, ownHosts: readonly string[]): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin } = headers
  if (origin === undefined || site === 'same-origin') return false
  return !URL.canParse(origin) || !ownHosts.includes(new URL(origin).host)
}

/** The names by which a request may address the daemon: its Host, and those that a trusted proxy has forwarded. */
export function hostsOf({ headers, socket }: IncomingMessage, isTrusted: IsTrusted): string[] {
  const forwarded = isTrusted(socket.remoteAddress) ? headers['x-forwarded-host'] : undefined
  return [headers.host ?? '', ...(typeof forwarded === 'string' ? forwarded.split(',').map((host) => host.trim()) : [])]
}

/** The token of an `Authorization: Bearer` field (RFC 6750 §2.1); null without the field, undefined where it holds anything else. */
export function bearerOf({ headers }: IncomingMessage): string | null | undefined {
  if (headers.authorization === undefined) return null
  return /^Bearer +([^\s,]+) *$/i.exec(headers.authorization)?.[1]
}

/** The client's address: the last one that is no trusted proxy's. Empty for a Unix socket. */
export function addressOf(request: IncomingMessage, isTrusted: IsTrusted): string {
  const peer = request.socket.remoteAddress
  const forwarded = request.headers['x-forwarded-for']
  if (!isTrusted(peer) || typeof forwarded !== 'string') return peer ?? ''
  const hops = forwarded
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => isIP(hop) !== 0)
  return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer ?? ''
}

/** The client that a bearer token identifies, or the answer that refuses the request. */
export async function authenticate(exchange: Asked, options: CallerOptions): Promise<Identity | Answer> {
  const token = bearerOf(exchange.request)
  if (token === null) return unauthorised('A bearer token is missing.')
  if (token === undefined) return unauthorised('The Authorization field holds no bearer token.')
  return judged(await options.judge(), token, exchange, options)
}

interface Asked {
  request: IncomingMessage
  accepted: Pick<Accepted, 'host'>
}

/** The client that a token or session identifies, or the answer that refuses the request. */
export async function judged(
  judge: Judge,
  token: string,
  { request, accepted }: Asked,
  { isTrusted }: Pick<CallerOptions, 'isTrusted'>,
): Promise<Identity | Answer> {
  const pending = judge.judge(token, { address: addressOf(request, isTrusted), host: accepted.host })
  // A token that was judged before is not awaited: that would cost a turn of the microtask queue.
  const judgement = pending instanceof Promise ? await pending : pending
  switch (judgement.kind) {
    case 'accepted':
      return judgement
    case 'refused':
      return unauthorised(judgement.message)
    case 'limited':
      return errorAnswer(429, 'Too many failures. Try again later.', [['Retry-After', String(judgement.retryAfter)]])
    case 'unavailable':
      return errorAnswer(503, judgement.message, [['Retry-After', '5']])
  }
}

/** 401 for a request without a valid token or session. */
export function unauthorised(message: string): Answer {
  return errorAnswer(401, message, [['WWW-Authenticate', 'Bearer']])
}

/** 403 for a client whose token lacks a scope. */
export function scopeMissing(access: Scope): Answer {
  return errorAnswer(403, `This needs the scope ${access}.`, [
    ['WWW-Authenticate', `Bearer error="insufficient_scope", scope="${access}"`],
  ])
}
