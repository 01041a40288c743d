/** A client of the HTTP API. Only a hash of its secret is stored. */
export interface ApiClientRow {
  id: string
  name: string
  /** Separated by spaces: `read` or `read write`. */
  scopes: string
  /** SHA-256 of the secret, base64url. */
  secret_hash: string
  created_at: number
  /** When it last requested a token. */
  last_used_at: number | null
  revoked_at: number | null
  /** The client or shop user that created or revoked it over the API; null for the command line. */
  created_by: string | null
  revoked_by: string | null
}

/** A key that signs tokens, with `records.url`. */
export interface SigningKeyRow {
  number: number
  /** JSON. */
  content: string
}

/** A login of the admin page. Only a hash of its cookie is stored. */
export interface AdminSessionRow {
  /** SHA-256 of the cookie's value, base64url. */
  id: string
  client_id: string
  /** Separated by spaces: those that the client had at the login. */
  scopes: string
  /** The signing key at the time of the login: the session ends when the key is dropped. */
  kid: string
  created_at: number
  expires_at: number
}
