/** What a client may do: read, or also write. */
export type Scope = 'read' | 'write'
export const allScopes: readonly Scope[] = ['read', 'write']

/** The identity behind a request. */
export interface Identity {
  /** The name used in logs. */
  actor: string
  scopes: readonly Scope[]
}

/** The decision about a bearer token. */
export type Judgement =
  | ({ kind: 'accepted' } & Identity)
  | { kind: 'refused'; message: string }
  /** Too many failures; `retryAfter` in seconds. */
  | { kind: 'limited'; retryAfter: number }
  /** The issuer of the token cannot be reached. */
  | { kind: 'unavailable'; message: string }

/** The client that presents a token. */
export interface Presenter {
  /** The client's address, from trusted proxies if there are any. */
  address: string
  /** The Host of the request. */
  host: string
}

/** Judges bearer tokens, synchronously if it knows the token. */
export interface Judge {
  judge(token: string, presenter: Presenter): Judgement | Promise<Judgement>
}

export const invalidToken: Judgement = { kind: 'refused', message: 'The bearer token is not valid.' }
export const expiredToken: Judgement = { kind: 'refused', message: 'The bearer token has expired.' }

/** Most bytes of a token: those of this daemon have about 400, those of shops about 1,500. */
export const maxTokenLength = 4096
