import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { describe, expect, it } from 'vitest'
import { toCustomerKey, withCustomerKey } from '../../src/auth/customer-key.ts'
import { describeConfig } from '../../src/config/describe.ts'
import { loadConfig } from '../../src/config/load.ts'
import { fromPlain, toPlain } from '../../src/config/plain.ts'
import { PagecacheError } from '../../src/errors.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const secret = 'canary-of-32-characters-or-more-0'

async function load(customerToken: object, files: Record<string, string> = {}) {
  const projectDir = await tempDir()
  await mkdir(join(projectDir, 'keys'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(projectDir, 'keys', name), text)
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ stages: { customerToken } }))
  return loadConfig({ projectDir }, { variables: {} })
}

function pem(type: 'rsa' | 'ec' | 'ed25519' | 'x25519' | 'private', size = 2048): string {
  if (type === 'private')
    return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const { publicKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: size })
      : type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-384' })
        : generateKeyPairSync(type as 'ed25519')
  return publicKey.export({ type: 'spki', format: 'pem' }).toString()
}

describe('a key', () => {
  it('is the text of its file without the line break', async () => {
    const loaded = await withCustomerKey(await load({ cookie: 'a', secretFile: 'keys/a' }, { a: `${secret}\n` }))
    const { key, algorithm } = toCustomerKey(loaded)
    expect([algorithm, key.export().toString()]).toEqual(['HS256', secret])
  })

  it.each([
    ['rsa', null, 'RS256'],
    ['rsa', 'PS512', 'PS512'],
    ['ec', null, 'ES384'],
    ['ed25519', null, 'EdDSA'],
  ] as const)('%s is for the algorithm that is named, %s, or follows from it', async (type, algorithm, expected) => {
    const loaded = await withCustomerKey(
      await load({ header: 'a', publicKeyFile: 'keys/a', algorithm }, { a: pem(type) }),
    )
    expect(toCustomerKey(loaded).algorithm).toBe(expected)
  })

  it('is passed to other processes with the configuration and never shown', async () => {
    const loaded = await withCustomerKey(await load({ cookie: 'a', secretFile: 'keys/a' }, { a: secret }))
    const handed = fromPlain(JSON.parse(JSON.stringify(toPlain(loaded))) as ReturnType<typeof toPlain>)
    expect(toCustomerKey(handed).key.export().toString()).toBe(secret)
    const shown = describeConfig(handed)
    expect(JSON.stringify(shown)).not.toContain('canary')
    expect(shown).toContainEqual({
      key: 'stages.customerToken.secretFile',
      value: 'keys/a',
      source: 'pagecache.yaml:4',
    })
  })

  it('is not needed without a token', async () => {
    const loaded = await load({ claim: 'customer' })
    expect(await withCustomerKey(loaded)).toBe(loaded)
  })
})

describe('an invalid key file', () => {
  it.each<[string, object, Record<string, string>, RegExp]>([
    [
      'says where it was looked for',
      { secretFile: 'keys/none' },
      {},
      /secretFile \(pagecache\.yaml:4\): cannot be read: ENOENT.*keys\/none/,
    ],
    ['is a directory', { secretFile: 'keys' }, {}, /cannot be read: it is not a regular file/],
    ['is a device', { secretFile: '/dev/zero' }, {}, /cannot be read: it is not a regular file/],
    ['says that it is too large', { secretFile: 'keys/a' }, { a: 'x'.repeat(65_537) }, /larger than 64 KB/],
    ['is too short', { secretFile: 'keys/a' }, { a: ' canary \n' }, /contains 6 bytes; HS256 needs 32 or more/],
    [
      'is too short for its algorithm',
      { secretFile: 'keys/a', algorithm: 'HS512' },
      { a: secret },
      /contains 33 bytes; HS512 needs 64/,
    ],
    [
      'refuses a public key as a secret',
      { secretFile: 'keys/a' },
      { a: pem('rsa') },
      /contains a key in PEM, not a secret/,
    ],
    [
      'refuses a secret as a public key',
      { publicKeyFile: 'keys/a' },
      { a: secret },
      /publicKeyFile \(pagecache\.yaml:4\): contains no public key/,
    ],
    ['refuses a private key', { publicKeyFile: 'keys/a' }, { a: pem('private') }, /contains a private key/],
    [
      'refuses a small key',
      { publicKeyFile: 'keys/a' },
      { a: pem('rsa', 1024) },
      /contains a key that cannot sign tokens/,
    ],
    [
      'refuses a key that signs nothing',
      { publicKeyFile: 'keys/a' },
      { a: pem('x25519') },
      /contains a key that cannot sign tokens/,
    ],
    [
      'refuses a key for another algorithm',
      { publicKeyFile: 'keys/a', algorithm: 'ES256' },
      { a: pem('ec') },
      /contains a key for ES384, not for ES256/,
    ],
  ])('%s', async (_, settings, files, message) => {
    const error: unknown = await load({ cookie: 'a', ...settings }, files)
      .then(withCustomerKey)
      .catch((thrown: unknown) => thrown)
    if (!(error instanceof PagecacheError)) throw new Error(`no fault was found: ${String(error)}`)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', exit: 2, hint: expect.any(String) as string })
    expect(error.message).toMatch(message)
    expect(`${error.message}${error.hint}`).not.toContain('canary')
  })
})

it('a pipe without a writer is refused without waiting', async () => {
  const loaded = await load({ cookie: 'a', secretFile: 'keys/pipe' })
  execFileSync('mkfifo', [join(loaded.places.projectDir, 'keys/pipe')])
  await expect(withCustomerKey(loaded)).rejects.toThrow('it is not a regular file')
})

describe('the configuration of a token', () => {
  it.each<[string, object, RegExp]>([
    ['without a key', { cookie: 'a' }, /stages\.customerToken \(pagecache\.yaml:3\): .*either cookie or header/],
    ['without a place', { secretFile: 'a' }, /either cookie or header/],
    ['with two places', { cookie: 'a', header: 'b', secretFile: 'a' }, /either cookie or header/],
    ['with two keys', { cookie: 'a', secretFile: 'a', publicKeyFile: 'b' }, /either secretFile or publicKeyFile/],
    ['with two of both', { cookie: 'a', header: 'b', secretFile: 'a', publicKeyFile: 'b' }, /one of them/],
    [
      'with the algorithm of a key for a secret',
      { cookie: 'a', secretFile: 'a', algorithm: 'RS256' },
      /HS256, HS384, HS512 with secretFile/,
    ],
    [
      'with the algorithm of a secret for a key',
      { cookie: 'a', publicKeyFile: 'a', algorithm: 'HS256' },
      /HS256, HS384, HS512 with secretFile/,
    ],
    [
      'with none as its algorithm',
      { cookie: 'a', secretFile: 'a', algorithm: 'none' },
      /customerToken\.algorithm .*expected one of HS256/,
    ],
    ['with a cookie of two words', { cookie: 'a b', secretFile: 'a' }, /customerToken\.cookie/],
    [
      'with a key that there is not',
      { cookie: 'a', secret: 'canary' },
      /customerToken\.secret .*unknown key; known keys: .*secretFile/,
    ],
  ])('%s is a fault', async (_, settings, message) => {
    await expect(load(settings)).rejects.toThrow(message)
    await expect(load(settings)).rejects.not.toThrow('canary')
  })
})
