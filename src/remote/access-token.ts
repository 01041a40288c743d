import { PagecacheError } from '../errors.ts'
import { toRemoteError } from './remote-error.ts'
import type { Transport } from './transport.ts'

/** Address of a daemon and the API client to use. */
export interface Credentials {
  server: string
  clientId: string
  clientSecret: string
}

/** A token is renewed this long before it expires, so that no request arrives with an expired one, in ms. */
const renewalMargin = 30_000

/** Delay before retrying with a refused client, in ms. A monitor left open would use up the failed logins allowed for its address. */
const refusalDelay = 60_000

interface Token {
  value: string
  /** Monotonic milliseconds. */
  renewAt: number
}

/** Bearer token of a client: fetched on first use, and renewed before it expires. */
export class AccessToken {
  readonly #transport: Transport
  readonly #credentials: Credentials
  readonly #now: () => number
  #token: Token | null = null
  /** Shared by concurrent callers. */
  #fetching: Promise<Token> | null = null
  #refused: { error: PagecacheError; until: number } | null = null

  /** @param now monotonic milliseconds */
  constructor(transport: Transport, credentials: Credentials, now: () => number) {
    this.#transport = transport
    this.#credentials = credentials
    this.#now = now
  }

  /** @throws UNAUTHORIZED, SERVER_UNREACHABLE, SERVER_FAILED */
  async get(): Promise<string> {
    const cached = this.#token
    if (cached !== null && this.#now() < cached.renewAt) return cached.value
    if (this.#refused !== null && this.#now() < this.#refused.until) throw this.#refused.error
    return (await (this.#fetching ??= this.#fetch().finally(() => (this.#fetching = null)))).value
  }

  /** Whether the client may change anything; true where the token does not say, as one of the shop. @throws like `get` */
  async mayWrite(): Promise<boolean> {
    const scope = scopeOf(await this.get())
    return scope === null || scope.split(' ').includes('write')
  }

  /** Drops a token that the daemon has rejected, unless it was replaced already. */
  forget(value: string): void {
    if (this.#token?.value === value) this.#token = null
  }

  async #fetch(): Promise<Token> {
    const { server, clientId, clientSecret } = this.#credentials
    const requestedAt = this.#now()
    const response = await this.#transport.send({
      method: 'POST',
      path: '/api/oauth/token',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
    })
    const { access_token: token, expires_in: lifetime } = (response.value ?? {}) as {
      access_token?: unknown
      expires_in?: unknown
    }
    const hint = response.status === 401 || response.status === 400 ? refusalHint(response.value) : null
    if (hint !== null) {
      const error = new PagecacheError('UNAUTHORIZED', `${server} rejected the client: wrong client ID or secret.`, {
        hint,
      })
      this.#refused = { error, until: this.#now() + refusalDelay }
      throw error
    }
    if (response.status !== 200 || typeof token !== 'string') throw toRemoteError(server, response)
    return (this.#token = { value: token, renewAt: requestedAt + Math.max(0, Number(lifetime) * 1000 - renewalMargin) })
  }
}

/** Where to find the right client; null if the response is not from a token issuer, but from a proxy in front of it. */
function refusalHint(body: unknown): string | null {
  const { success, errors } = (body ?? {}) as { success?: unknown; errors?: unknown }
  if (success === false)
    return "On the daemon's machine, list clients with pagecache client:list, or create one with pagecache client:create."
  // Shopware's error format.
  if (Array.isArray(errors))
    return "The shop issues the tokens of this daemon (auth.mode: shop). Create an integration in the shop's administration."
  return null
}

/** The scopes in a token of the daemon. They are not verified here: the daemon does that. */
function scopeOf(token: string): string | null {
  try {
    const { scope } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { scope?: unknown }
    return typeof scope === 'string' ? scope : null
  } catch {
    return null
  }
}
