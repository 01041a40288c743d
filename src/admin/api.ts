/** An error response of the daemon, with its message. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The HTTP API, used as one client. */
export interface Api {
  readonly clientId: string
  /** Whether the client may change anything. */
  readonly canWrite: boolean
  /** Requests a path below `/api/_action/`. Throws an ApiError, with status 0 if the daemon is unreachable. */
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>
  /** Sends a request with a JSON body. */
  ask<T>(path: string, question: Query, signal?: AbortSignal): Promise<T>
  post<T>(path: string, body?: object): Promise<T>
  send<T>(method: 'PATCH' | 'DELETE', path: string, body?: object): Promise<T>
  logOut(): Promise<void>
}

export type Query = Readonly<Record<string, string | number | undefined>>

/** A login. Its secret is in an HttpOnly cookie; `csrfToken` proves that a request comes from this page. */
export interface Session {
  clientId: string
  scopes: readonly string[]
  csrfToken: string
  /** False: it ends with the token of the shop that it was opened with. */
  outlivesToken: boolean
}

/** A new session in the place of one that has ended; null: the operator must log in. */
export type Renew = (() => Promise<Session>) | null

interface Options {
  body?: object | undefined
  signal?: AbortSignal | undefined
}

/** The session that the browser has from an earlier visit; null without one. */
export async function restoreSession(): Promise<Session | null> {
  return (await readAnswer<{ session: Session | null }>(await reach('/admin/session', {}))).session
}

/**
 * Opens a session. Only where it ends with a token of the shop, the secret is kept in memory to renew it.
 *
 * @throws ApiError 401 for a wrong client ID or secret, 429 after too many of them
 */
export async function logIn(clientId: string, clientSecret: string): Promise<{ session: Session; renew: Renew }> {
  const open = async () => {
    const token = await askToken(clientId, clientSecret)
    const response = await reach('/admin/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    return (await readAnswer<{ session: Session }>(response)).session
  }
  const session = await open()
  return { session, renew: session.outlivesToken ? null : open }
}

/** @param onEnded called once the daemon refuses the session */
export function createApi(first: Session, renew: Renew, onEnded: () => void): Api {
  let session = first
  let renewing: Promise<void> | null = null
  let hasEnded = false
  const end = () => {
    hasEnded = true
    onEnded()
    return new ApiError(401, 'The session has ended. Log in again.')
  }
  const renewed = async () => {
    try {
      if (renew === null) throw end()
      session = await renew()
    } catch (error) {
      // Further attempts would count as failed logins of everyone at this address.
      throw error instanceof ApiError && error.status === 401 && !hasEnded ? end() : error
    }
  }
  const answered = async (method: string, path: string, options: Options): Promise<Response> => {
    if (hasEnded) throw new ApiError(401, 'The session has ended. Log in again.')
    const used = session
    const response = await request(method, path, used, options)
    if (response.status !== 401) return response
    // Concurrent requests share the next session.
    if (session === used) await (renewing ??= renewed().finally(() => (renewing = null)))
    return request(method, path, session, options)
  }
  const call = async <T>(method: string, path: string, options: Options) =>
    readAnswer<T>(await answered(method, `/api/_action/${path}`, options))
  return {
    clientId: first.clientId,
    canWrite: first.scopes.includes('write'),
    get: (path, query = {}, signal) => call('GET', `${path}${toSearch(query)}`, { signal }),
    ask: (path, question, signal) => call('POST', path, { body: Object.fromEntries(given(question)), signal }),
    post: (path, body) => call('POST', path, { body }),
    send: (method, path, body) => call(method, path, { body }),
    logOut: async () => void (await request('DELETE', '/admin/session', session, {})),
  }
}

function request(method: string, path: string, { csrfToken }: Session, { body, signal }: Options): Promise<Response> {
  const headers: Record<string, string> = { 'x-csrf-token': csrfToken }
  if (body) headers['content-type'] = 'application/json'
  return reach(path, { method, headers, body: body ? JSON.stringify(body) : null, signal: signal ?? null })
}

async function askToken(clientId: string, clientSecret: string): Promise<string> {
  const body = JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret })
  const response = await reach('/api/oauth/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  // A shop that issues the tokens has its own error format.
  const otherwise = response.status === 401 ? 'Wrong client ID or secret.' : undefined
  return (await readAnswer<{ access_token: string }>(response, otherwise)).access_token
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, cache: 'no-store', credentials: 'same-origin', redirect: 'error' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'Could not reach the daemon.')
  }
}

async function readAnswer<T>(response: Response, otherwise = `The daemon answered ${response.status}.`): Promise<T> {
  const value = (await response.json().catch(() => null)) as (T & { message?: unknown }) | null
  if (response.ok && value !== null) return value
  const message = typeof value?.message === 'string' ? value.message : otherwise
  throw new ApiError(response.status, message)
}

function toSearch(query: Query): string {
  const fields = given(query).map(([name, value]) => [name, String(value)])
  return fields.length > 0 ? `?${new URLSearchParams(fields)}` : ''
}

/** The fields that were filled in: an empty form field means "not given". */
function given(query: Query): [string, string | number][] {
  return Object.entries(query).filter(
    (field): field is [string, string | number] => field[1] !== undefined && field[1] !== '',
  )
}
