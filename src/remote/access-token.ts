import { PagecacheError } from '../errors.ts'
import { toRemoteError } from './remote-error.ts'
import type { Transport } from './transport.ts'

/** Who we are to the daemon. */
export interface Credentials {
  server: string
  clientId: string
  clientSecret: string
}

/** A token is renewed so long before its end that no request arrives with an expired one (milliseconds). */
const margin = 30_000

/** Whom the daemon does not know asks again after so long (milliseconds): a monitor left open would use up the failed logins of all at its address. */
const refusalRest = 60_000

interface Token {
  value: string
  /** Monotonic milliseconds. */
  renewAt: number
}

/** The bearer token of one client: fetched when it is first needed, and again before it expires. */
export class AccessToken {
  readonly #transport: Transport
  readonly #credentials: Credentials
  readonly #now: () => number
  #token: Token | null = null
  /** Under way: those who ask at once share it. */
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
    const known = this.#token
    if (known !== null && this.#now() < known.renewAt) return known.value
    if (this.#refused !== null && this.#now() < this.#refused.until) throw this.#refused.error
    return (await (this.#fetching ??= this.#fetch().finally(() => (this.#fetching = null)))).value
  }

  /** The daemon does not accept this one any more: its keys were replaced, or its clock was set. Another may be there already. */
  forget(value: string): void {
    if (this.#token?.value === value) this.#token = null
  }

  async #fetch(): Promise<Token> {
    const { server, clientId, clientSecret } = this.#credentials
    const asked = this.#now()
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
    const hint = response.status === 401 || response.status === 400 ? whereClientsAre(response.value) : null
    if (hint !== null) {
      const error = new PagecacheError(
        'UNAUTHORIZED',
        `${server} does not know this client, or its secret is another one.`,
        { hint },
      )
      this.#refused = { error, until: this.#now() + refusalRest }
      throw error
    }
    if (response.status !== 200 || typeof token !== 'string') throw toRemoteError(server, response)
    return (this.#token = { value: token, renewAt: asked + Math.max(0, Number(lifetime) * 1000 - margin) })
  }
}

/** What helps whom an issuer of tokens refused; null where it was none that did, but what stands before it. */
function whereClientsAre(answer: unknown): string | null {
  const { success, errors } = (answer ?? {}) as { success?: unknown; errors?: unknown }
  if (success === false)
    return "pagecache client:list on the daemon's machine shows its clients, pagecache client:create makes one."
  // Shopware's own form of an error.
  if (Array.isArray(errors))
    return 'The shop issues the tokens of this daemon (auth.mode: shop): its administration shows its integrations, and makes one.'
  return null
}
