import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { H3, H3Event } from 'h3'
import type { Identity } from '../../auth/judgement.ts'
import type { SessionStore } from '../../auth/sessions.ts'
import { sessionCookieName, sessionOf } from '../../cache/session-cookie.ts'
import { PagecacheError } from '../../errors.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { errorAnswer, jsonAnswer, type Answer } from '../answer.ts'
import { authenticate, bearerOf, judged, unauthorised, type CallerOptions } from '../api/caller.ts'
import { addRoutes, type Exchange } from '../api/route.ts'

export interface SessionOptions extends CallerOptions {
  sessions(): Promise<SessionStore>
}

/** Proves that a request comes from the admin page itself. Other sites can have a browser send the cookie, but cannot read this. */
const csrfField = 'x-csrf-token'

/** Browsers keep at most 4,096 bytes of a cookie with its name. */
const longestValue = 4000

/**
 * Adds the login of the admin page: `POST /admin/session` exchanges a bearer token for a session in an HttpOnly cookie, `GET` says whose
 * session the browser has, `DELETE` ends it (docs/decisions/0103-admin-sessions.md).
 *
 * @param refuse checks that need no session
 */
export function addSession(app: H3, options: SessionOptions, refuse: (exchange: Exchange) => Answer | null): void {
  const early = ({ context }: H3Event) => refuse(context.exchange) ?? undefined
  addRoutes(
    app,
    '/admin/session',
    {
      GET: (event) => show(event.context.exchange, options),
      POST: (event) => open(event.context.exchange, options),
      DELETE: (event) => close(event.context.exchange, options),
    },
    [early],
  )
}

/** The client behind a request of the admin page (its cookie and CSRF token) or of any other client (its bearer token), or the refusal. */
export async function identify(exchange: Exchange, options: SessionOptions): Promise<Identity | Answer> {
  const value = valueOf(exchange)
  if (value === null) return authenticate(exchange, options)
  // The cookie alone is no proof: a browser also sends it with requests that other pages cause.
  return bearsCsrfToken(exchange.request, value)
    ? judgeSession(exchange, value, options)
    : unauthorised(`A request with the cookie of the admin page needs its ${csrfField} field.`)
}

/** A request with an Authorization field is judged by that alone. */
function valueOf({ request, accepted }: Exchange): string | null {
  return bearerOf(request) === null ? sessionOf(request.headers.cookie, accepted.scheme) : null
}

async function judgeSession(exchange: Exchange, value: string, options: SessionOptions): Promise<Identity | Answer> {
  return judged(await options.sessions(), value, exchange, options)
}

async function show(exchange: Exchange, options: SessionOptions): Promise<Answer> {
  const value = sessionOf(exchange.request.headers.cookie, exchange.accepted.scheme)
  if (value === null) return jsonAnswer(200, { success: true, session: null })
  const client = await judgeSession(exchange, value, options)
  if (!('status' in client)) return sessionAnswer(value, client, await options.sessions())
  // A page without a session is no error: it shows the login.
  return client.status === 401
    ? jsonAnswer(200, { success: true, session: null }, [cookieLine(exchange, '', 0)])
    : client
}

async function open(exchange: Exchange, options: SessionOptions): Promise<Answer> {
  const client = await authenticate(exchange, options)
  if ('status' in client) return client
  const token = bearerOf(exchange.request)!
  const sessions = await options.sessions()
  const earlier = sessionOf(exchange.request.headers.cookie, exchange.accepted.scheme)
  if (earlier !== null) await sessions.close(earlier)
  const value = await sessions.open(client, token)
  if (value.length > longestValue) return errorAnswer(400, 'The token is too long for a cookie.')
  return sessionAnswer(value, client, sessions, [cookieLine(exchange, value)])
}

async function close(exchange: Exchange, options: SessionOptions): Promise<Answer> {
  // Also beside a token: the browser is told to forget the cookie.
  const forget = cookieLine(exchange, '', 0)
  const value = sessionOf(exchange.request.headers.cookie, exchange.accepted.scheme)
  if (value !== null) {
    if (!bearsCsrfToken(exchange.request, value)) return errorAnswer(403, `The ${csrfField} field is missing or wrong.`)
    const isClosed = await options
      .sessions()
      .then((sessions) => sessions.close(value))
      .then(() => true, unlessUnavailable)
    if (!isClosed) return errorAnswer(503, unclosed, [forget])
  }
  return jsonAnswer(200, { success: true }, [forget])
}

/** False if the error means that the records are temporarily unusable. */
function unlessUnavailable(error: unknown): false {
  if (error instanceof PagecacheError && error.status === 503) return false
  throw error
}

const unclosed =
  'This browser has forgotten the session, but the records cannot be used at the moment. The session ends within 12 hours, or when its client is revoked.'

function sessionAnswer(
  value: string,
  { actor, scopes }: Identity,
  { lifetime }: SessionStore,
  headers: readonly HeaderPair[] = [],
): Answer {
  const session = { clientId: actor, scopes, csrfToken: csrfTokenOf(value), outlivesToken: lifetime !== null }
  return jsonAnswer(200, { success: true, session }, headers)
}

/** Without Max-Age the browser forgets the cookie when it is closed. */
function cookieLine({ accepted }: Exchange, value: string, maxAge?: number): HeaderPair {
  const secure = accepted.scheme === 'https' ? '; Secure' : ''
  const end = maxAge === undefined ? '' : `; Max-Age=${maxAge}`
  return [
    'Set-Cookie',
    `${sessionCookieName(accepted.scheme)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${end}`,
  ]
}

function csrfTokenOf(value: string): string {
  return hash('sha256', `csrf ${value}`, 'base64url')
}

function bearsCsrfToken({ headers }: IncomingMessage, value: string): boolean {
  const sent = Buffer.from(String(headers[csrfField] ?? ''))
  const expected = Buffer.from(csrfTokenOf(value))
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}
