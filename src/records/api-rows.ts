/** A client of the HTTP API. Its secret is known to itself alone. */
export interface ApiClientRow {
  id: string
  name: string
  /** Separated by blanks: `read`, or `read write`. */
  scopes: string
  /** SHA-256 of the secret, base64url. */
  secret_hash: string
  created_at: number
  /** When it last got a token. */
  last_used_at: number | null
  revoked_at: number | null
  /** The client (or user of the shop) that made it over the API, that ended it; null for the command line. */
  created_by: string | null
  revoked_by: string | null
}
