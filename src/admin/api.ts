/** An error response of the daemon, with its message. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The HTTP API, used as one client. Secret and token exist only in this closure, so that reloading the page forgets them. */
export interface Api {
  readonly clientId: string
  /** Requests a path below `/api/_action/`. Throws an ApiError, with status 0 if the daemon is unreachable. */
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>
  /** Sends a request with a JSON body. */
  ask<T>(path: string, question: Query, signal?: AbortSignal): Promise<T>
  post<T>(path: string, body?: object): Promise<T>
  send<T>(method: 'PATCH' | 'DELETE', path: string, body?: object): Promise<T>
}

export type Query = Readonly<Record<string, string | number | undefined>>

interface Options {
  body?: object | undefined
  signal?: AbortSignal | undefined
}

/** @throws ApiError 401 for a wrong client ID or secret, 429 after too many of them */
export async function logIn(clientId: string, clientSecret: string): Promise<Api> {
  let token = await askToken(clientId, clientSecret)
  let renewing: Promise<void> | null = null
  let ended: ApiError | null = null
  const renew = async () => {
    try {
      token = await askToken(clientId, clientSecret)
    } catch (error) {
      // A revoked client gets no new token; further attempts would count as failed logins of everyone at this address.
      if (error instanceof ApiError && error.status === 401)
        ended = new ApiError(401, 'This client was revoked or its secret has changed. Log out.')
      throw ended ?? error
    }
  }
  const answered = async (method: string, path: string, options: Options): Promise<Response> => {
    if (ended !== null) throw ended
    const used = token
    const response = await request(method, path, used, options)
    if (response.status !== 401) return response
    // The token has expired; concurrent requests share the next one.
    if (token === used) await (renewing ??= renew().finally(() => (renewing = null)))
    return request(method, path, token, options)
  }
  const call = async <T>(method: string, path: string, options: Options) =>
    readAnswer<T>(await answered(method, `/api/_action/${path}`, options))
  return {
    clientId,
    get: (path, query = {}, signal) => call('GET', `${path}${toSearch(query)}`, { signal }),
    ask: (path, question, signal) => call('POST', path, { body: Object.fromEntries(given(question)), signal }),
    post: (path, body) => call('POST', path, { body }),
    send: (method, path, body) => call(method, path, { body }),
  }
}

function request(method: string, path: string, token: string, { body, signal }: Options): Promise<Response> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
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
  return (
    await readAnswer<{ access_token: string }>(
      response,
      response.status === 401 ? 'Wrong client ID or secret.' : undefined,
    )
  ).access_token
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, cache: 'no-store', credentials: 'omit', redirect: 'error' })
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
