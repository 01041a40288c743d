import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { toConfigError } from '../config/faults.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { CustomerTokenSettings } from '../config/schema.ts'
import type { PagecacheError } from '../errors.ts'

/** What tokens of customers are checked with: one key, and the one algorithm that it is for. */
export interface CustomerKey {
  key: KeyObject
  algorithm: string
}

/** Bytes of a key file; a certificate with a large RSA key has about 4,000. */
const largestFile = 64 * 1024
/** Bytes that a secret has at least, by its algorithm: as many as the digest (RFC 7518 §3.2). */
const shortestSecret: Record<string, number> = { HS256: 32, HS384: 48, HS512: 64 }
/** RFC 7518 §3.3. */
const shortestModulus = 2048
const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const curveAlgorithms: Record<string, string> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }

/**
 * The configuration with the content of the key file that `stages.customerToken` names, so that processes which are handed it read no
 * file; the same where none is named.
 *
 * @throws CONFIG_INVALID that names the key path, what is wrong with the file and what to do
 */
export async function withCustomerKey(loaded: LoadedConfig): Promise<LoadedConfig> {
  const { customerToken } = loaded.config.stages
  const file = customerToken.secretFile ?? customerToken.publicKeyFile
  if (file === null) return loaded
  const customerKey = await readKeyFile(resolve(loaded.places.projectDir, file)).catch((error: unknown) => {
    throw keyFault(
      loaded,
      `cannot be read: ${(error as Error).message}`,
      'Name a file that the user of the daemon may read, or set stages.customerToken.cookie and .header to null.',
    )
  })
  const known = { ...loaded, customerKey }
  toCustomerKey(known)
  return known
}

/** The key of a configuration that `withCustomerKey` returned. @throws CONFIG_INVALID */
export function toCustomerKey(loaded: LoadedConfig): CustomerKey {
  const { customerToken } = loaded.config.stages
  const text = loaded.customerKey ?? ''
  const made = customerToken.secretFile === null ? toPublicKey(text, customerToken) : toSecret(text, customerToken)
  if ('fault' in made) throw keyFault(loaded, made.fault, made.remedy)
  return made
}

interface KeyFault {
  fault: string
  remedy: string
}

/** The text of the file without the end of its last line, as `openssl rand -hex 32 > file` writes it. */
function toSecret(text: string, { algorithm }: CustomerTokenSettings): CustomerKey | KeyFault {
  const secret = Buffer.from(text.trim())
  const wanted = algorithm ?? 'HS256'
  // What is public would be a secret that everybody knows.
  if (text.includes('-----BEGIN'))
    return {
      fault: 'holds a key in PEM, not a secret',
      remedy: 'Name the public key as stages.customerToken.publicKeyFile.',
    }
  const shortest = shortestSecret[wanted]!
  if (secret.length < shortest)
    return {
      fault: `holds ${secret.length} bytes; ${wanted} needs ${shortest} or more`,
      remedy: `Make one with: openssl rand -hex ${shortest}`,
    }
  return { key: createSecretKey(secret), algorithm: wanted }
}

function toPublicKey(text: string, { algorithm }: CustomerTokenSettings): CustomerKey | KeyFault {
  if (text.includes('PRIVATE KEY'))
    return {
      fault: 'holds a private key',
      remedy: 'Leave that with the shop, and give its public half: openssl pkey -in private.pem -pubout',
    }
  let key: KeyObject
  try {
    key = createPublicKey(text)
  } catch {
    return {
      fault: 'holds no public key',
      remedy: 'A public key or a certificate in PEM is expected: openssl pkey -in private.pem -pubout',
    }
  }
  const fitting = algorithmsOf(key)
  const chosen = algorithm ?? fitting[0]
  if (chosen === undefined)
    return {
      fault: 'holds a key that signs no tokens',
      remedy: 'Use RSA of 2048 bits or more, an EC key on P-256, P-384 or P-521, or Ed25519.',
    }
  if (!fitting.includes(chosen))
    return {
      fault: `holds a key for ${fitting.join(', ') || 'nothing here'}, and not for ${chosen}`,
      remedy: 'Correct stages.customerToken.algorithm, or leave it null: it follows from the key.',
    }
  return { key, algorithm: chosen }
}

/** The algorithms that a key is for, the usual one first. */
function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string[] {
  if (type === 'ed25519') return ['EdDSA']
  if (type === 'rsa') return (details?.modulusLength ?? 0) < shortestModulus ? [] : rsaAlgorithms
  const algorithm = type === 'ec' ? curveAlgorithms[details?.namedCurve ?? ''] : undefined
  return algorithm === undefined ? [] : [algorithm]
}

/** Of a regular file alone: a device would never end, and a pipe that nobody writes to would not even be opened without `O_NONBLOCK`. */
async function readKeyFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error('it is no file')
    if (stat.size > largestFile) throw new Error(`it is larger than ${largestFile / 1024} KB`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** The content is never repeated: it is, or was meant to be, a secret. */
function keyFault({ config, sourceOf }: LoadedConfig, fault: string, remedy: string): PagecacheError {
  const name = config.stages.customerToken.secretFile === null ? 'publicKeyFile' : 'secretFile'
  return toConfigError(
    [{ key: `stages.customerToken.${name}`, source: sourceOf(['stages', 'customerToken', name]), message: fault }],
    remedy,
  )
}
