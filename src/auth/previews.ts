import { SignJWT } from 'jose'
import type { Records } from '../records/open.ts'
import { findActiveClient } from './clients.ts'
import type { KeyRing } from './key-ring.ts'
import { algorithm, issuer, verifyJwt } from './tokens.ts'

/** No token of the API is a preview token, and the other way round. */
const form = { typ: 'stage-preview+jwt', audience: 'pagecache-stage-preview', requiredClaims: [] }

/** How long a preview link works, in seconds. */
const lifetime = 3600

/** Opens the records and the keys that sign, creating the first key if needed. */
export async function openPreviews(app: { records(): Promise<Records>; keys(): Promise<KeyRing> }): Promise<Previews> {
  return new Previews(await app.records(), await app.keys())
}

/** Signs and verifies the tokens of links that show one popup stage to anyone who has the link. */
class Previews {
  readonly #records: Records
  readonly #keys: KeyRing

  constructor(records: Records, keys: KeyRing) {
    this.#records = records
    this.#keys = keys
  }

  /**
   * @param clientId the client that asks for the link, which ends with it; null for the command line
   * @returns the token, and when it expires (milliseconds since the epoch)
   */
  async sign(stageId: string, clientId: string | null): Promise<{ token: string; expiresAt: number }> {
    const { kid, privateKey } = await this.#keys.current()
    const at = Math.floor(this.#records.now() / 1000)
    const token = await new SignJWT(clientId === null ? {} : { client_id: clientId })
      .setProtectedHeader({ alg: algorithm, typ: form.typ, kid })
      .setIssuer(issuer)
      .setAudience(form.audience)
      .setSubject(stageId)
      .setIssuedAt(at)
      .setExpirationTime(at + lifetime)
      .sign(privateKey)
    return { token, expiresAt: (at + lifetime) * 1000 }
  }

  /** The id of the stage that a token shows; null if it is invalid, has expired, or its client was revoked. */
  async read(token: string): Promise<string | null> {
    const verified = await verifyJwt(this.#keys, token, this.#records.now(), form)
    if (verified === null || verified === 'expired') return null
    const { sub, client_id: clientId } = verified.payload
    if (typeof clientId === 'string' && (await findActiveClient(this.#records, clientId)) === null) return null
    return sub!
  }
}
