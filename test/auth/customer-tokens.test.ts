import { createHmac, createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { CustomerTokens } from '../../src/auth/customer-tokens.ts'
import type { CustomerTokenSettings } from '../../src/config/schema.ts'

const settings: CustomerTokenSettings = {
  cookie: 'customer',
  header: null,
  algorithm: null,
  secretFile: null,
  publicKeyFile: null,
  claim: 'sub',
  issuer: 'shop',
  audience: 'pagecache',
}
const shop = generateKeyPairSync('ed25519')
const start = Date.parse('2026-11-21T12:00:00Z')

interface Given {
  tokens: CustomerTokens
  clock: { now: number }
}

function open(more: Partial<CustomerTokenSettings> = {}, key: KeyObject = shop.publicKey, algorithm = 'EdDSA'): Given {
  const clock = { now: start }
  return { tokens: new CustomerTokens({ key, algorithm }, { ...settings, ...more }, () => clock.now), clock }
}

/** Signs a token with the shop's key, with other claims or another header than a valid one. */
function sign(
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: KeyObject = shop.privateKey,
): Promise<string> {
  const jwt = new SignJWT({ sub: 'customer-7', iss: 'shop', aud: 'pagecache', exp: start / 1000 + 600, ...claims })
  return jwt.setProtectedHeader({ alg: 'EdDSA', ...header } as never).sign(key, { crit: { 'x-own': true } })
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

describe('a token of the shop', () => {
  it('identifies the customer', async () => {
    expect(await open().tokens.read(await sign())).toBe('customer-7')
    expect(await open().tokens.read(await sign({ aud: ['other', 'pagecache'] }, { typ: 'JWT', kid: 'key-1' }))).toBe(
      'customer-7',
    )
    expect(await open({ claim: 'customerNumber' }).tokens.read(await sign({ customerNumber: 10_042 }))).toBe('10042')
    expect(await open({ issuer: null, audience: null }).tokens.read(await sign({ iss: 'other', aud: undefined }))).toBe(
      'customer-7',
    )
  })

  it.each([
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['PS384', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
  ])('may be signed with %s', async (algorithm, { privateKey, publicKey }) => {
    expect(await open({}, publicKey, algorithm).tokens.read(await sign({}, { alg: algorithm }, privateKey))).toBe(
      'customer-7',
    )
  })

  it('must use the configured algorithm, even with the same key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect(await open({}, publicKey, 'RS256').tokens.read(await sign({}, { alg: 'PS256' }, privateKey))).toBeNull()
  })

  it('can be signed with a secret', async () => {
    const secret = createSecretKey(Buffer.alloc(32, 1))
    expect(await open({}, secret, 'HS256').tokens.read(await sign({}, { alg: 'HS256' }, secret))).toBe('customer-7')
  })

  it('is trusted for a minute without another check, and never after it expires', async () => {
    const { tokens, clock } = open()
    const token = await sign({ exp: start / 1000 + 90 })
    expect(tokens.read(token)).toBeInstanceOf(Promise)
    expect(await tokens.read(token)).toBe('customer-7')
    expect(tokens.read(token)).toBe('customer-7')
    clock.now += 60_001
    expect(tokens.read(token)).toBeInstanceOf(Promise)
    expect(await tokens.read(token)).toBe('customer-7')
    clock.now = start + 90_000
    expect(tokens.read(token)).toBeInstanceOf(Promise)
    clock.now = start + 96_000
    expect(await tokens.read(token)).toBeNull()
  })

  it('is not trusted because another one was', async () => {
    const { tokens } = open()
    const token = await sign()
    expect(await tokens.read(token)).toBe('customer-7')
    const [header, , signature] = token.split('.')
    expect(
      await tokens.read(
        [header, part({ sub: 'customer-8', iss: 'shop', aud: 'pagecache', exp: start / 1000 + 600 }), signature].join(
          '.',
        ),
      ),
    ).toBeNull()
  })
})

describe('no customer is identified by', () => {
  const pem = shop.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const claims = { sub: 'customer-7', iss: 'shop', aud: 'pagecache', exp: start / 1000 + 600 }
  const hmac = (secret: string | Buffer) => {
    const signed = `${part({ alg: 'HS256' })}.${part(claims)}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const other = generateKeyPairSync('ed25519')
  const forgeries: Record<string, () => string | Promise<string>> = {
    'alg: none': () => `${part({ alg: 'none' })}.${part(claims)}.`,
    'alg: none and a signature': async () =>
      `${part({ alg: 'none' })}.${part(claims)}.${(await sign()).split('.')[2]!}`,
    'an HMAC made with the public key': () => hmac(pem),
    'an HMAC made with the public key without its last line': () => hmac(pem.trim()),
    'an HMAC made with nothing': () => hmac(''),
    'another key': () => sign({}, {}, other.privateKey),
    'a key in the header': () => sign({}, { jwk: other.publicKey.export({ format: 'jwk' }) }, other.privateKey),
    jku: () => sign({}, { jku: 'http://127.0.0.1:9/keys' }),
    x5u: () => sign({}, { x5u: 'http://127.0.0.1:9/keys' }),
    crit: () => sign({}, { crit: ['x-own'], 'x-own': 1 }),
    'a kid like a path': () => sign({}, { kid: '../../../../dev/null' }),
    'a kid that is no text': () => sign({}, { kid: ['a'] }),
    'an expired one': () => sign({ exp: start / 1000 - 60 }),
    'one without an end': () => sign({ exp: undefined }),
    'one that is not valid yet': () => sign({ nbf: start / 1000 + 60 }),
    'another issuer': () => sign({ iss: 'other' }),
    'no issuer': () => sign({ iss: undefined }),
    'another audience': () => sign({ aud: 'api' }),
    'no audience': () => sign({ aud: undefined }),
    'no customer': () => sign({ sub: undefined }),
    'a customer that is a list': () => sign({ sub: ['a'] }),
    'nine kilobytes': () => sign({ padding: 'x'.repeat(9000) }),
    'a signature cut off': async () => (await sign()).slice(0, -10),
    'five parts': async () => `${await sign()}.a.b`,
    'broken JSON': () => `${Buffer.from('{').toString('base64url')}.e30.AAAA`,
    text: () => 'nonsense',
    nothing: () => '',
  }

  it.each(Object.entries(forgeries))('%s', async (_, make) => {
    expect(await open().tokens.read(await make())).toBeNull()
  })
})
