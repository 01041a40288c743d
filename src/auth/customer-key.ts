import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { resolve } from 'node:path'
import { toConfigError } from '../config/faults.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { CustomerTokenSettings } from '../config/schema.ts'
import type { PagecacheError } from '../errors.ts'
import { readBoundedFile } from '../lib/read-bounded-file.ts'

/** The key that verifies customer tokens, with its only algorithm. */
export interface CustomerKey {
  key: KeyObject
  algorithm: string
}

/** Most bytes of a key file; a certificate with a large RSA key has about 4,000. */
const maxFileSize = 64 * 1024
/** Fewest bytes of a secret by algorithm: the size of its digest (RFC 7518 §3.2). */
const minSecretSize: Record<string, number> = { HS256: 32, HS384: 48, HS512: 64 }
/** Fewest bits of an RSA key (RFC 7518 §3.3). */
const minModulusSize = 2048
const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const curveAlgorithms: Record<string, string> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }

/**
 * Adds the content of the key file named by `stages.customerToken` to the configuration, so that processes that receive the configuration
 * read no file. Without a key file the configuration is unchanged.
 *
 * @throws CONFIG_INVALID with the key path, the problem with the file and a remedy
 */
export async function withCustomerKey(loaded: LoadedConfig): Promise<LoadedConfig> {
  const { customerToken } = loaded.config.stages
  const file = customerToken.secretFile ?? customerToken.publicKeyFile
  if (file === null) return loaded
  const path = resolve(loaded.places.projectDir, file)
  const content = await readBoundedFile(path, maxFileSize).catch((error: unknown) => {
    throw keyError(loaded, {
      problem: `cannot be read: ${(error as Error).message}`,
      remedy: 'Name a file that the daemon can read, or set stages.customerToken.cookie and .header to null.',
    })
  })
  const extended = { ...loaded, customerKey: content.toString('utf8') }
  toCustomerKey(extended)
  return extended
}

/** Parses the key of a configuration returned by `withCustomerKey`. @throws CONFIG_INVALID */
export function toCustomerKey(loaded: LoadedConfig): CustomerKey {
  const { customerToken } = loaded.config.stages
  const text = loaded.customerKey ?? ''
  const parsed = customerToken.secretFile === null ? toPublicKey(text, customerToken) : toSecret(text, customerToken)
  if ('problem' in parsed) throw keyError(loaded, parsed)
  return parsed
}

interface KeyProblem {
  problem: string
  remedy: string
}

/** Parses a secret: the text of the file without the line break at its end, as written by `openssl rand -hex 32 > file`. */
function toSecret(text: string, { algorithm }: CustomerTokenSettings): CustomerKey | KeyProblem {
  const secret = Buffer.from(text.trim())
  const chosen = algorithm ?? 'HS256'
  // A public key used as a secret would be known to everybody.
  if (text.includes('-----BEGIN'))
    return {
      problem: 'contains a key in PEM, not a secret',
      remedy: 'Name the public key as stages.customerToken.publicKeyFile.',
    }
  const minSize = minSecretSize[chosen]!
  if (secret.length < minSize)
    return {
      problem: `contains ${secret.length} bytes; ${chosen} needs ${minSize} or more`,
      remedy: `Create one with: openssl rand -hex ${minSize}`,
    }
  return { key: createSecretKey(secret), algorithm: chosen }
}

function toPublicKey(text: string, { algorithm }: CustomerTokenSettings): CustomerKey | KeyProblem {
  if (text.includes('PRIVATE KEY'))
    return {
      problem: 'contains a private key',
      remedy: 'Keep it with the shop and use its public key: openssl pkey -in private.pem -pubout',
    }
  let key: KeyObject
  try {
    key = createPublicKey(text)
  } catch {
    return {
      problem: 'contains no public key',
      remedy: 'Use a public key or a certificate in PEM: openssl pkey -in private.pem -pubout',
    }
  }
  const fitting = algorithmsOf(key)
  const chosen = algorithm ?? fitting[0]
  if (chosen === undefined)
    return {
      problem: 'contains a key that cannot sign tokens',
      remedy: 'Use RSA of 2048 bits or more, an EC key on P-256, P-384 or P-521, or Ed25519.',
    }
  if (!fitting.includes(chosen))
    return {
      problem: `contains a key for ${fitting.join(', ') || 'no supported algorithm'}, not for ${chosen}`,
      remedy: 'Correct stages.customerToken.algorithm, or set it to null to derive it from the key.',
    }
  return { key, algorithm: chosen }
}

/** The algorithms of a key, the usual one first. */
function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string[] {
  if (type === 'ed25519') return ['EdDSA']
  if (type === 'rsa') return (details?.modulusLength ?? 0) < minModulusSize ? [] : rsaAlgorithms
  const algorithm = type === 'ec' ? curveAlgorithms[details?.namedCurve ?? ''] : undefined
  return algorithm === undefined ? [] : [algorithm]
}

/** The error never quotes the content of the file: it is, or was meant to be, a secret. */
function keyError({ config, sourceOf }: LoadedConfig, { problem, remedy }: KeyProblem): PagecacheError {
  const name = config.stages.customerToken.secretFile === null ? 'publicKeyFile' : 'secretFile'
  return toConfigError(
    [{ key: `stages.customerToken.${name}`, source: sourceOf(['stages', 'customerToken', name]), message: problem }],
    remedy,
  )
}
