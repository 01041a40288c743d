import type { IncomingMessage } from 'node:http'
import type { H3, H3Event } from 'h3'
import type { Authority } from '../../auth/authority.ts'
import type { Refuse } from '../../cache/refusal.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { jsonAnswer, type Answer, type WholeAnswer } from '../answer.ts'
import { mediaTypeOf, parseJson, readBody, toBodyAnswer } from '../body.ts'
import { addressOf, carriesSecret, isFromForeignPage, hostsOf } from './caller.ts'
import { largestBody } from './input.ts'
import type { ApiOptions } from './options.ts'
import type { Exchange } from './route.ts'

interface Fields {
  grant_type: string
  client_id: string
  client_secret: string
  scope: string | null
}

const path = '/api/oauth/token'

/** Adds the token endpoint. Its errors have OAuth's own form, that of an unsupported method too. */
export function addTokenEndpoint(app: H3, options: ApiOptions): void {
  app.post(path, (event) => refuseEarly(event.context.exchange, options) ?? answerToken(event, options))
  app.all(path, (event) =>
    failure(405, 'invalid_request', `${event.req.method} is not allowed here.`, [['Allow', 'POST']]),
  )
}

/**
 * `POST /api/oauth/token` (RFC 6749 §4.4): JSON or a form, with the client in the body or in `Authorization: Basic`. Logins of the shop's
 * own clients, and all logins where the shop issues the tokens, are passed to the shop.
 */
async function answerToken({ context }: H3Event, options: ApiOptions): Promise<Answer | null> {
  const { request, reply } = context.exchange
  const body = await readBody(request, largestBody)
  if (!Buffer.isBuffer(body)) return toBodyAnswer(body, refuseToken)
  if (options.app.config.auth.mode === 'shop') {
    if (await reply.pass(body, options.shop, unavailable)) return null
    return failure(503, 'temporarily_unavailable', 'The shop issues the tokens, but no sales channel is configured.')
  }
  const read = readFields(mediaTypeOf(request), body)
  if ('status' in read) return read
  if (isForShop(read.sent)) return (await reply.pass(body, null, unavailable)) ? null : unknownClient(request)
  const fields = withBasic(read.sent, request.headers.authorization)
  if ('status' in fields) return fields
  return grant(fields, request, options)
}

/** The answer when the shop, asked for a login, gives none. */
const unavailable: Refuse = (status, message) => {
  const { headers, body } = failure(status, 'temporarily_unavailable', message)
  return { status, headers, body: Buffer.from(body) }
}

/** RFC 6749 §5.1. */
const noCache: HeaderPair = ['Pragma', 'no-cache']

/** Checks that need no body: the answer to a request that fails them; null if it passes. */
function refuseEarly({ request, query }: Exchange, { isReady, isTrusted }: ApiOptions): Answer | null {
  if (!isReady())
    return failure(503, 'temporarily_unavailable', 'The daemon is stopping.', [
      ['Connection', 'close'],
      ['Retry-After', '5'],
    ])
  if (query !== null && carriesSecret(query))
    return failure(400, 'invalid_request', 'Send the secret in the body, never in the URL.')
  if (isFromForeignPage(request, hostsOf(request, isTrusted)))
    return failure(403, 'access_denied', 'Requests from pages of other sites are not allowed.')
  return null
}

/** The parameters of a body: each at most once, and a string. */
function readFields(type: string | null, body: Buffer): { sent: Sent } | Answer {
  if (type === 'application/json') {
    const parsed = parseJson(body)
    if (parsed === null) return failure(400, 'invalid_request', 'The body is not valid JSON.')
    const { value } = parsed
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return failure(400, 'invalid_request', 'The body must be a JSON object.')
    const wrong = names.find(
      (name) => Object.hasOwn(value, name) && typeof (value as Record<string, unknown>)[name] !== 'string',
    )
    return wrong === undefined ? { sent: value } : failure(400, 'invalid_request', `${wrong}: must be a string`)
  }
  if (type === 'application/x-www-form-urlencoded') {
    const pairs = [...new URLSearchParams(body.toString())]
    const twice = names.find((name) => pairs.filter(([key]) => key === name).length > 1)
    return twice === undefined
      ? { sent: Object.fromEntries(pairs) }
      : failure(400, 'invalid_request', `${twice}: given more than once`)
  }
  return failure(400, 'invalid_request', 'application/json or application/x-www-form-urlencoded is expected.')
}

type Sent = Partial<Record<(typeof names)[number], string>>

const names = ['grant_type', 'client_id', 'client_secret', 'scope'] as const

/** Whether a client is the shop's: Shopware's administration and its integrations log in at this path too (docs/decisions/0027-shop-logins.md). */
function isForShop({ client_id: id = '' }: Sent): boolean {
  return id === 'administration' || /^SW(?:IA|UA)[A-Z0-9_-]{16,32}$/.test(id)
}

/** Adds the client of `Authorization: Basic`. A client may use one way of authentication only (RFC 6749 §2.3). */
function withBasic(sent: Sent, authorization: string | undefined): Fields | Answer {
  const fields = {
    grant_type: sent.grant_type ?? '',
    client_id: sent.client_id ?? '',
    client_secret: sent.client_secret ?? '',
    scope: sent.scope ?? null,
  }
  if (authorization === undefined) return complete(fields)
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization) ?? []
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
  if (id === undefined || secret === undefined)
    return failure(400, 'invalid_request', 'The Authorization field holds no Basic credentials.')
  if (fields.client_secret !== '' || (fields.client_id !== '' && fields.client_id !== id))
    return failure(400, 'invalid_request', 'The client is given twice: in the body and in the Authorization field.')
  return complete({ ...fields, client_id: formDecoded(id), client_secret: formDecoded(secret) })
}

/** Undoes the form encoding of one value (RFC 6749 §2.3.1). */
function formDecoded(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('&', '%26')}`).get('text') ?? ''
}

function complete(fields: Fields): Fields | Answer {
  if (fields.grant_type === '') return failure(400, 'invalid_request', 'grant_type: missing')
  if (fields.grant_type !== 'client_credentials')
    return failure(400, 'unsupported_grant_type', 'grant_type: expected client_credentials')
  const missing = (['client_id', 'client_secret'] as const).find((name) => fields[name] === '')
  return missing === undefined ? fields : failure(400, 'invalid_request', `${missing}: missing`)
}

async function grant(
  fields: Fields,
  request: IncomingMessage,
  options: Pick<ApiOptions, 'authority' | 'isTrusted'>,
): Promise<Answer> {
  const authority: Authority = await options.authority()
  const granted = await authority.grant({
    clientId: fields.client_id,
    clientSecret: fields.client_secret,
    scope: fields.scope,
    address: addressOf(request, options.isTrusted),
  })
  switch (granted.kind) {
    case 'granted':
      return jsonAnswer(200, { token_type: 'Bearer', expires_in: granted.expiresIn, access_token: granted.token }, [
        noCache,
      ])
    case 'unknown-client':
      return unknownClient(request)
    case 'invalid-scope':
      return failure(400, 'invalid_scope', 'scope: this client does not have it')
    case 'limited':
      return failure(429, 'slow_down', 'Too many failures. Try again later.', [
        ['Retry-After', String(granted.retryAfter)],
      ])
  }
}

function unknownClient({ headers }: IncomingMessage): Answer {
  const scheme = headers.authorization === undefined ? 'Bearer' : 'Basic realm="pagecache"'
  return failure(401, 'invalid_client', 'Wrong client ID or secret.', [['WWW-Authenticate', scheme]])
}

/** An error of any request to the daemon, in the form of the token endpoint. */
export function refuseToken(status: number, message: string, headers?: readonly HeaderPair[]): WholeAnswer {
  return failure(status, codes[status] ?? 'invalid_request', message, headers)
}

/** Borrowed from RFC 6749 §4.1.2.1, because §5.2 has no codes for failures of the server. */
const codes: Readonly<Record<number, string>> = { 500: 'server_error', 503: 'temporarily_unavailable' }

/** An error in OAuth's own form (RFC 6749 §5.2), with the API's `success` and `message`. */
function failure(status: number, error: string, message: string, headers: readonly HeaderPair[] = []): WholeAnswer {
  return jsonAnswer(status, { error, error_description: message, success: false, message }, [noCache, ...headers])
}
