import { jwtVerify, SignJWT, errors, type JWTPayload } from 'jose'
import { randomUUID } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'
import { maxTokenLength, allScopes, type Scope } from './judgement.ts'

export const issuer = 'pagecache'
const audience = 'pagecache-api'
const type = 'at+jwt'
export const algorithm = 'EdDSA'

/** How much the clocks of two processes may differ, in seconds. */
const leeway = 5

/** The claims of an API client's token. Times are seconds since the epoch. */
export interface Claims {
  clientId: string
  scopes: Scope[]
  kid: string
  expiresAt: number
}

/** Signs a token (RFC 9068 in form). `now` in milliseconds since the epoch, `lifetime` in milliseconds. */
export async function signToken(
  keys: KeyRing,
  client: { id: string; scopes: readonly Scope[] },
  now: number,
  lifetime: number,
): Promise<string> {
  const { kid, privateKey } = await keys.current()
  const at = Math.floor(now / 1000)
  return new SignJWT({ scope: client.scopes.join(' '), client_id: client.id })
    .setProtectedHeader({ alg: algorithm, typ: type, kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(client.id)
    .setJti(randomUUID())
    .setIssuedAt(at)
    .setNotBefore(at)
    .setExpirationTime(at + Math.floor(lifetime / 1000))
    .sign(privateKey)
}

/**
 * Verifies a token: its only algorithm, a key of the key ring with exactly this id, and every claim. Nothing that its header names is
 * fetched. Returns `expired` if everything but the time is valid, null if anything else is wrong. `now` in milliseconds since the epoch.
 */
export async function verifyToken(keys: KeyRing, token: string, now: number): Promise<Claims | 'expired' | null> {
  const verified = await verifyJwt(keys, token, now, { typ: type, audience, requiredClaims: ['jti', 'nbf', 'scope'] })
  if (verified === null || verified === 'expired') return verified
  const { payload, kid } = verified
  const granted = String(payload['scope']).split(' ')
  return {
    clientId: payload.sub!,
    scopes: allScopes.filter((scope) => granted.includes(scope)),
    kid,
    expiresAt: payload.exp!,
  }
}

/** What distinguishes one kind of token from another. */
interface TokenForm {
  typ: string
  audience: string
  /** Besides `sub`, `iat` and `exp`. */
  requiredClaims: string[]
}

/** The payload of a token of this form and the id of its key; `expired` or null as `verifyToken`. */
export async function verifyJwt(
  keys: KeyRing,
  token: string,
  now: number,
  form: TokenForm,
): Promise<{ payload: JWTPayload; kid: string } | 'expired' | null> {
  if (token.length > maxTokenLength || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async ({ kid, ...header }) => {
        // Our tokens have no jku, x5u, jwk, crit or other fields.
        if (Object.keys(header).some((name) => name !== 'alg' && name !== 'typ'))
          throw new errors.JWSInvalid('unexpected header')
        const key = typeof kid === 'string' ? await keys.find(kid) : null
        if (key === null) throw new errors.JWKSNoMatchingKey()
        return key.publicKey
      },
      {
        algorithms: [algorithm],
        ...form,
        issuer,
        clockTolerance: leeway,
        currentDate: new Date(now),
        requiredClaims: ['sub', 'iat', 'exp', ...form.requiredClaims],
      },
    )
    return { payload, kid: protectedHeader.kid! }
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'expired'
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError) return null
    throw error
  }
}
