import { setImmediate as nextTurn } from 'node:timers/promises'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createClient, revokeClient } from '../../src/auth/clients.ts'
import { KeyFiles } from '../../src/auth/key-files.ts'
import { signToken, verifyToken } from '../../src/auth/tokens.ts'
import { openKeys } from '../helpers/keys.ts'
import { lifetime, openAuthority } from './authority.ts'

async function withToken(scope: 'read' | 'write' = 'write') {
  const opened = await openAuthority()
  const { client, secret } = await createClient(opened.records, 'test', scope)
  const token = await signToken(opened.keys, client, opened.clock.now, lifetime)
  return { ...opened, client, secret, token }
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

describe('a token of the daemon', () => {
  it('is accepted with its scopes, the first time and later', async () => {
    const { authority, token, client } = await withToken('read')
    for (const _ of [1, 2])
      expect(await authority.judge(token)).toEqual({ kind: 'accepted', actor: client.id, scopes: ['read'] })
  })

  it('expires even if it was accepted before', async () => {
    const { authority, token, clock } = await withToken()
    await authority.judge(token)
    clock.now += lifetime + 6000
    expect(await authority.judge(token)).toEqual({ kind: 'refused', message: 'The bearer token has expired.' })
  })

  it('is refused at once when its client is revoked here', async () => {
    const { authority, token, client, records } = await withToken()
    expect(await authority.judge(token)).toMatchObject({ kind: 'accepted' })
    await revokeClient(records, client.id)
    await nextTurn()
    expect(await authority.judge(token)).toMatchObject({ kind: 'refused' })
  })

  it('is refused at once when its client is revoked over another connection', async () => {
    const { authority, token, client, dataDir } = await withToken()
    expect(await authority.judge(token)).toMatchObject({ kind: 'accepted' })
    const other = await openAuthority(dataDir)
    await revokeClient(other.records, client.id)
    await nextTurn()
    expect(await authority.judge(token)).toMatchObject({ kind: 'refused' })
  })

  it('contains only client, scopes and times', async () => {
    const { token, client, secret } = await withToken()
    const [header, payload] = token
      .split('.')
      .slice(0, 2)
      .map((text) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>)
    expect(header).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) as string })
    expect(payload).toEqual({
      iss: 'pagecache',
      aud: 'pagecache-api',
      sub: client.id,
      client_id: client.id,
      scope: 'read write',
      jti: expect.any(String) as string,
      iat: expect.any(Number) as number,
      nbf: expect.any(Number) as number,
      exp: expect.any(Number) as number,
    })
    expect(Number(payload!['exp']) - Number(payload!['iat'])).toBe(600)
    expect(token).not.toContain(secret)
  })
})

describe('a forged token is refused', () => {
  const forgeries: Record<string, (given: Awaited<ReturnType<typeof withToken>>) => string | Promise<string>> = {
    'alg: none': async ({ token, keys }) =>
      `${part({ alg: 'none', typ: 'at+jwt', kid: (await keys.current()).kid })}.${token.split('.')[1]!}.`,
    'alg: none with a signature': async ({ token, keys }) =>
      `${part({ alg: 'none', typ: 'at+jwt', kid: (await keys.current()).kid })}.${token.split('.').slice(1).join('.')}`,
    'an HMAC made with the public key': async ({ token, keys }) => {
      const { kid, publicKey } = await keys.current()
      const signed = `${part({ alg: 'HS256', typ: 'at+jwt', kid })}.${token.split('.')[1]!}`
      return `${signed}.${createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' }))
        .update(signed)
        .digest('base64url')}`
    },
    'an unknown kid': ({ client, clock, dataDir }) =>
      signToken(
        new KeyFiles({ dataDir: `${dataDir}/other`, now: () => clock.now, lifetime }),
        client,
        clock.now,
        lifetime,
      ),
    'a kid like a path': (given) => forge(given, { kid: '../../../../dev/null' }),
    'a kid that is a property of every object': (given) => forge(given, { kid: '__proto__' }),
    'no kid': (given) => forge(given, { kid: undefined }),
    jku: (given) => forge(given, { jku: 'http://127.0.0.1:9/keys' }),
    x5u: (given) => forge(given, { x5u: 'http://127.0.0.1:9/keys' }),
    'a key in the header': (given) =>
      forge(given, { jwk: generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }) }),
    crit: (given) => forge(given, { crit: ['x-own'], 'x-own': 1 }),
    'another type': (given) => forge(given, { typ: 'JWT' }),
    'another issuer': (given) => forge(given, {}, { iss: 'shop' }),
    'another audience': (given) => forge(given, {}, { aud: 'shop' }),
    expired: (given) => forge(given, {}, { exp: given.clock.now / 1000 - 60 }),
    'no end': (given) => forge(given, {}, { exp: undefined }),
    'not yet valid': (given) => forge(given, {}, { nbf: given.clock.now / 1000 + 60 }),
    'a client that there is not': (given) => forge(given, {}, { sub: '0190c0de-0000-7000-8000-000000000001' }),
    'no client': (given) => forge(given, {}, { sub: undefined }),
    'nine kilobytes': (given) => forge(given, {}, { padding: 'x'.repeat(9000) }),
    'a changed payload': ({ token }) =>
      [token.split('.')[0]!, part({ scope: 'read write' }), token.split('.')[2]!].join('.'),
    'a signature cut off': ({ token }) => token.slice(0, -10),
    'five parts': ({ token }) => `${token}.a.b`,
    text: () => 'nonsense',
    nothing: () => '',
    'broken JSON': () => `${Buffer.from('{').toString('base64url')}.e30.AAAA`,
  }

  /** Signs a token with the right key, with another header or other claims. */
  async function forge(
    { keys, client, clock }: Awaited<ReturnType<typeof withToken>>,
    header: Record<string, unknown>,
    claims: Record<string, unknown> = {},
  ): Promise<string> {
    const at = clock.now / 1000
    const { kid, privateKey } = await keys.current()
    const jwt = new SignJWT({
      iss: 'pagecache',
      aud: 'pagecache-api',
      sub: client.id,
      scope: 'read write',
      jti: 'a',
      iat: at,
      nbf: at,
      exp: at + 600,
      ...claims,
    })
    return jwt
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header } as never)
      .sign(privateKey, { crit: { 'x-own': true } })
  }

  it.each(Object.entries(forgeries))('%s', async (_, make) => {
    const given = await withToken()
    expect(await given.authority.judge(await make(given))).toMatchObject({ kind: 'refused' })
  })

  it('the valid token from which these are forged is accepted', async () => {
    const given = await withToken()
    expect(await given.authority.judge(await forge(given, {}))).toMatchObject({ kind: 'accepted' })
  })
})

describe('keys', () => {
  it('a replaced key verifies its tokens until all of them have expired', async () => {
    const { keys, client, clock, token } = await withToken()
    const first = (await keys.current()).kid
    await keys.rotate({ dropOld: false })
    expect((await keys.current()).kid).not.toBe(first)
    expect(await verifyToken(keys, token, clock.now)).toMatchObject({ clientId: client.id, kid: first })
    clock.now += lifetime + 61_000
    expect(await keys.find(first)).toBeNull()
    await keys.rotate({ dropOld: false })
    expect(keys.size).toBe(2)
  })

  it('dropping a key invalidates its tokens in every process', async () => {
    const { authority, keys, records, dataDir, token } = await withToken()
    expect(await authority.judge(token)).toMatchObject({ kind: 'accepted' })
    const other = openKeys({ records, dataDir, lifetime })
    await other.rotate({ dropOld: true })
    await nextTurn()
    expect(await authority.judge(token)).toMatchObject({ kind: 'refused' })
    expect((await keys.current()).kid).toBe((await other.current()).kid)
  })

  it('processes that open at once use the same key', async () => {
    const { dataDir, records } = await openAuthority()
    const options = { dataDir: `${dataDir}/fresh`, records, lifetime }
    const rings = Array.from({ length: 8 }, () => openKeys(options))
    const kids = await Promise.all(rings.map(async (ring) => (await ring.current()).kid))
    expect(new Set(kids).size).toBe(1)
  })
})
