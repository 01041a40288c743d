import type { IncomingMessage } from 'node:http'
import type { Authority } from '../../auth/authority.ts'
import type { ApiAnswer } from './api-answer.ts'
import { announcesTooMuch, mediaTypeOf, parseJson, readBody, tooLarge } from './body.ts'
import { ownHosts, type ApiOptions } from './api.ts'
import { addressOf, carriesSecret, isFromForeignPage, queryOf } from './caller.ts'

export interface OauthOptions extends Omit<ApiOptions, 'judge' | 'shared' | 'onPerformed'> {
  /** Null where the shop issues all tokens. */
  authority: (() => Promise<Authority>) | null
}

/** A request for a token that is meant for the shop; its body has been read. */
export interface ForShop {
  body: Buffer
  /** What is answered where there is no shop. */
  otherwise: ApiAnswer
}

interface Fields {
  grant_type: string
  client_id: string
  client_secret: string
  scope: string | null
}

/**
 * `POST /api/oauth/token` (RFC 6749 §4.4): JSON, or a form as the RFC has it, with the client in the body or in `Authorization: Basic`.
 * What is plainly meant for the shop's own endpoint of this name comes back as it is.
 */
export async function answerToken(request: IncomingMessage, options: OauthOptions): Promise<ApiAnswer | ForShop> {
  const refused = refuseUnread(request, options)
  if (refused !== null) return refused
  const body = await readBody(request)
  if (!Buffer.isBuffer(body)) return body
  if (options.authority === null)
    return {
      body,
      otherwise: failure(503, 'temporarily_unavailable', 'The shop issues the tokens, and none is configured.'),
    }
  const read = readFields(mediaTypeOf(request), body)
  if ('status' in read) return read
  if (isForShop(read.sent)) return { body, otherwise: unknownClient(request) }
  const fields = withBasic(read.sent, request.headers.authorization)
  if ('status' in fields) return fields
  return grant(fields, request, options.authority, options)
}

/** RFC 6749 §5.1. */
const noStore = { pragma: 'no-cache' }

function refuseUnread(request: IncomingMessage, { isReady, isTrusted }: OauthOptions): ApiAnswer | null {
  if (!isReady())
    return failure(503, 'temporarily_unavailable', 'The daemon is stopping.', {
      connection: 'close',
      'retry-after': '5',
    })
  if (request.method !== 'POST')
    return failure(405, 'invalid_request', `${request.method} is not allowed here.`, { allow: 'POST' })
  if (announcesTooMuch(request)) return tooLarge
  const query = queryOf(request)
  if (query !== null && carriesSecret(query))
    return failure(400, 'invalid_request', 'A secret belongs into the body, never into the URL.')
  if (isFromForeignPage(request, ownHosts(request, isTrusted)))
    return failure(403, 'access_denied', 'Pages of other sites may not do this.')
  return null
}

/** The parameters of a body, each at most once and a text. */
function readFields(type: string | null, body: Buffer): { sent: Sent } | ApiAnswer {
  if (type === 'application/json') {
    const parsed = parseJson(body)
    if ('status' in parsed) return failure(400, 'invalid_request', 'The body is no valid JSON.')
    const { value } = parsed
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return failure(400, 'invalid_request', 'The body is no JSON object.')
    const wrong = names.find(
      (name) => Object.hasOwn(value, name) && typeof (value as Record<string, unknown>)[name] !== 'string',
    )
    return wrong === undefined ? { sent: value } : failure(400, 'invalid_request', `${wrong}: expected a text`)
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

/** Shopware's administration and its integrations log in at the same path: those clients are the shop's (docs/decisions/0027-shop-logins.md). */
function isForShop({ client_id: id = '' }: Sent): boolean {
  return id === 'administration' || /^SW(?:IA|UA)[A-Z0-9_-]{16,32}$/.test(id)
}

/** RFC 6749 §2.3.1: a client names itself in one place. */
function withBasic(sent: Sent, authorization: string | undefined): Fields | ApiAnswer {
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
    return failure(400, 'invalid_request', 'The client names itself twice.')
  return complete({ ...fields, client_id: decoded(id), client_secret: decoded(secret) })
}

function decoded(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('&', '%26')}`).get('text') ?? ''
}

function complete(fields: Fields): Fields | ApiAnswer {
  if (fields.grant_type === '') return failure(400, 'invalid_request', 'grant_type: missing')
  if (fields.grant_type !== 'client_credentials')
    return failure(400, 'unsupported_grant_type', 'grant_type: expected client_credentials')
  const missing = (['client_id', 'client_secret'] as const).find((name) => fields[name] === '')
  return missing === undefined ? fields : failure(400, 'invalid_request', `${missing}: missing`)
}

async function grant(
  fields: Fields,
  request: IncomingMessage,
  authority: () => Promise<Authority>,
  { isTrusted }: OauthOptions,
): Promise<ApiAnswer> {
  const granted = await (
    await authority()
  ).grant({
    clientId: fields.client_id,
    clientSecret: fields.client_secret,
    scope: fields.scope,
    address: addressOf(request, isTrusted),
  })
  switch (granted.kind) {
    case 'granted':
      return {
        status: 200,
        value: { token_type: 'Bearer', expires_in: granted.expiresIn, access_token: granted.token },
        headers: noStore,
      }
    case 'unknown-client':
      return unknownClient(request)
    case 'invalid-scope':
      return failure(400, 'invalid_scope', 'scope: this client may not have it')
    case 'limited':
      return failure(429, 'slow_down', 'Too many failures. Try again later.', {
        'retry-after': String(granted.retryAfter),
      })
  }
}

function unknownClient({ headers }: IncomingMessage): ApiAnswer {
  const scheme = headers.authorization === undefined ? 'Bearer' : 'Basic realm="pagecache"'
  return failure(401, 'invalid_client', 'The client is not known, or its secret is another one.', {
    'www-authenticate': scheme,
  })
}

/** OAuth's own form (RFC 6749 §5.2), with ours beside it. */
function failure(status: number, error: string, message: string, headers: ApiAnswer['headers'] = {}): ApiAnswer {
  return {
    status,
    value: { error, error_description: message, success: false, message },
    headers: { ...noStore, ...headers },
  }
}
