/** What a client may do: look, or change too. */
export type Scope = 'read' | 'write'
export const allScopes: readonly Scope[] = ['read', 'write']

/** Who asks, and what it may do. */
export interface Identity {
  /** As the logs name it. */
  actor: string
  scopes: readonly Scope[]
}

/** What becomes of a request with a bearer token. */
export type Judgement =
  | ({ kind: 'accepted' } & Identity)
  | { kind: 'refused'; message: string }
  /** Too many failures; in seconds. */
  | { kind: 'limited'; retryAfter: number }
  /** Nobody who could know answers. */
  | { kind: 'unavailable'; message: string }

/** Where a token was shown. */
export interface Presenter {
  /** Of the client, as far as trusted proxies tell it. */
  address: string
  /** The Host that it asked for. */
  host: string
}

/** Judges bearer tokens. The answer is there at once where the token was seen before. */
export interface Judge {
  judge(token: string, presenter: Presenter): Judgement | Promise<Judgement>
}

export const invalidToken: Judgement = { kind: 'refused', message: 'The bearer token is not valid.' }
export const expiredToken: Judgement = { kind: 'refused', message: 'The bearer token has expired.' }

/** The longest token that is looked at, in bytes: ours have about 400, those of shops about 1,500. */
export const longestToken = 4096
