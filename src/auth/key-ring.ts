import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import { PagecacheError } from '../errors.ts'

/** A key that signs tokens (Ed25519). */
export interface SigningKey {
  kid: string
  /** Milliseconds since the epoch. */
  createdAt: number
  privateKey: KeyObject
  publicKey: KeyObject
}

export interface NumberedKey {
  number: number
  key: SigningKey
}

export interface KeyRingOptions {
  /** Milliseconds since the epoch. */
  now: () => number
  /** Lifetime of tokens in milliseconds: a replaced key still verifies tokens for that long. */
  lifetime: number
}

/** Most valid keys at a time: every process reads all of them again when one is added. */
const maxKeys = 20

/** How much the clocks of processes may differ (milliseconds). */
const leeway = 60_000

/** The signing keys. They are numbered; the highest number signs. Only one process can take a number, so processes that start at once agree. */
export abstract class KeyRing {
  /** As of the last `refresh`, in order of their numbers. */
  protected keys: NumberedKey[] = []
  readonly #now: () => number
  readonly #lifetime: number

  constructor({ now, lifetime }: KeyRingOptions) {
    this.#now = now
    this.#lifetime = lifetime
  }

  /** Reads the keys again, unless they cannot have changed. */
  protected abstract refresh(): void | Promise<void>

  /** Saves a key under this number, unless there is one. */
  protected abstract save(number: number, content: string): void | Promise<void>

  protected abstract remove(numbers: readonly number[]): void | Promise<void>

  /** The key that signs new tokens; creates the first one. @throws STORE_DAMAGED, STORE_FULL */
  async current(): Promise<SigningKey> {
    await this.refresh()
    return this.keys.at(-1)?.key ?? this.#add(1)
  }

  /** The key with exactly this id; null if it is unknown or all of its tokens have expired. */
  async find(kid: string): Promise<SigningKey | null> {
    await this.refresh()
    return this.has(kid) ? this.keys.find(({ key }) => key.kid === kid)!.key : null
  }

  /** Whether `find` would return a key, as long as the records have not changed since its last call. */
  has(kid: string): boolean {
    const index = this.keys.findIndex(({ key }) => key.kid === kid)
    return index >= 0 && !this.#isExpired(index)
  }

  /**
   * Signs with a new key from now on. With `dropOld` all earlier keys are deleted; otherwise they still verify their tokens.
   *
   * @throws TOO_MANY_REQUESTS if too many old keys are still valid
   */
  async rotate({ dropOld }: { dropOld: boolean }): Promise<SigningKey> {
    await this.refresh()
    if (!dropOld && this.keys.filter((_, index) => !this.#isExpired(index)).length >= maxKeys) {
      throw new PagecacheError('TOO_MANY_REQUESTS', `There are already ${maxKeys} valid signing keys.`, {
        hint: 'Wait until tokens have expired (auth.tokenLifetime), or invalidate all tokens with --drop-old.',
      })
    }
    const last = this.keys.at(-1)?.number ?? 0
    const key = await this.#add(last + 1)
    const old = this.keys.filter(({ number }, index) => number <= last && (dropOld || this.#isExpired(index)))
    await this.remove(old.map(({ number }) => number))
    await this.refresh()
    return key
  }

  get size(): number {
    return this.keys.length
  }

  /** A key is expired when all tokens that it signed before it was replaced have expired. */
  #isExpired(index: number): boolean {
    const next = this.keys[index + 1]
    return next !== undefined && this.#now() > next.key.createdAt + this.#lifetime + leeway
  }

  async #add(number: number): Promise<SigningKey> {
    const { privateKey } = generateKeyPairSync('ed25519')
    const content = {
      kid: randomBytes(12).toString('base64url'),
      createdAt: this.#now(),
      privateKey: privateKey.export({ format: 'jwk' }),
    }
    await this.save(number, JSON.stringify(content))
    await this.refresh()
    // Another process may have been faster: then its key is used.
    return this.keys.at(-1)!.key
  }
}

/** @param place what the error calls the key. @throws STORE_DAMAGED */
export function parseKey(content: string, place: string): SigningKey {
  try {
    const { kid, createdAt, privateKey } = JSON.parse(content) as {
      kid: unknown
      createdAt: unknown
      privateKey: JsonWebKey
    }
    if (typeof kid !== 'string' || typeof createdAt !== 'number' || privateKey.crv !== 'Ed25519')
      throw new Error('not a signing key')
    const key = createPrivateKey({ key: privateKey, format: 'jwk' })
    return { kid, createdAt, privateKey: key, publicKey: createPublicKey(key) }
  } catch {
    // The content is secret, and the parser's message could quote it.
    throw new PagecacheError('STORE_DAMAGED', `${place} is not a readable key`, {
      hint: 'Restore it from a backup, or remove it: then its tokens become invalid and clients request new ones.',
    })
  }
}
