import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { PagecacheError } from '../errors.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { oncePerTurn } from '../lib/once-per-turn.ts'

/** A key that signs tokens (Ed25519). */
export interface SigningKey {
  kid: string
  /** Milliseconds since the epoch. */
  createdAt: number
  privateKey: KeyObject
  publicKey: KeyObject
}

interface KeyFile {
  number: number
  key: SigningKey
}

export interface KeyRingOptions {
  /** Its directory `keys/` contains one file (mode 0600) for each key. */
  dataDir: string
  /** Milliseconds since the epoch. */
  now: () => number
  /** Lifetime of tokens in milliseconds: a replaced key still verifies tokens for that long. */
  lifetime: number
}

/** Most valid keys at a time: every process reads all of them again when one is added. */
const maxKeys = 20

/** How much the clocks of processes may differ (milliseconds). */
const leeway = 60_000

/**
 * The signing keys, one numbered file each; the highest number signs. A file is linked into place complete and only one process can take a
 * number, so processes that start at once agree. Each use notices changes of the directory.
 */
export class KeyRing {
  readonly #directory: string
  readonly #now: () => number
  readonly #lifetime: number
  readonly #refreshOncePerTurn = oncePerTurn(() => this.#refresh())
  #seen = ''
  #files: KeyFile[] = []

  /** Creates the first key if there is none. @throws STORE_DAMAGED, STORE_FULL */
  constructor({ dataDir, now, lifetime }: KeyRingOptions) {
    this.#directory = join(dataDir, 'keys')
    this.#now = now
    this.#lifetime = lifetime
    guarded(this.#directory, () => makeDirectory(this.#directory, 0o700))
    this.#refresh()
    if (this.#files.length === 0) this.#add(1)
  }

  /** The key that signs new tokens. */
  current(): SigningKey {
    this.#refresh()
    const last = this.#files.at(-1)
    // The directory has been emptied: all tokens are invalid, and a new key signs from now on.
    return last === undefined ? this.#add(1) : last.key
  }

  /** The key with exactly this id; null if it is unknown or all of its tokens have expired. */
  find(kid: string): SigningKey | null {
    this.#refreshOncePerTurn()
    const index = this.#files.findIndex(({ key }) => key.kid === kid)
    return index < 0 || this.#isExpired(index) ? null : this.#files[index]!.key
  }

  /**
   * Signs with a new key from now on. With `dropOld` all earlier keys are deleted; otherwise they still verify their tokens.
   *
   * @throws TOO_MANY_REQUESTS if too many old keys are still valid
   */
  rotate({ dropOld }: { dropOld: boolean }): SigningKey {
    this.#refresh()
    if (!dropOld && this.#files.filter((_, index) => !this.#isExpired(index)).length >= maxKeys) {
      throw new PagecacheError('TOO_MANY_REQUESTS', `There are already ${maxKeys} valid signing keys.`, {
        hint: 'Wait until tokens have expired (auth.tokenLifetime), or invalidate all tokens with --drop-old.',
      })
    }
    const last = this.#files.at(-1)?.number ?? 0
    const key = this.#add(last + 1)
    for (const [index, { number }] of [...this.#files].entries()) {
      if (number <= last && (dropOld || this.#isExpired(index)))
        guarded(this.#directory, () => rmSync(this.#path(number), { force: true }))
    }
    this.#refresh()
    return key
  }

  get size(): number {
    return this.#files.length
  }

  /** A key is expired when all tokens that it signed before it was replaced have expired. */
  #isExpired(index: number): boolean {
    const next = this.#files[index + 1]
    return next !== undefined && this.#now() > next.key.createdAt + this.#lifetime + leeway
  }

  #add(number: number): SigningKey {
    const { privateKey } = generateKeyPairSync('ed25519')
    const content = JSON.stringify({
      kid: randomBytes(12).toString('base64url'),
      createdAt: this.#now(),
      privateKey: privateKey.export({ format: 'jwk' }),
    })
    guarded(this.#directory, () => {
      // It may have been deleted since. Its parent is created by the records only.
      if (!existsSync(this.#directory)) mkdirSync(this.#directory, { mode: 0o700 })
      this.#write(this.#path(number), content)
    })
    this.#refresh()
    // Another process may have been faster: then its key is used.
    return this.#files.at(-1)!.key
  }

  #write(file: string, content: string): void {
    const temporary = join(this.#directory, `.new-${process.pid}-${randomBytes(6).toString('hex')}`)
    try {
      const descriptor = openSync(temporary, 'wx', 0o600)
      writeSync(descriptor, content)
      fsyncSync(descriptor)
      closeSync(descriptor)
      linkSync(temporary, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(temporary, { force: true })
    }
    const directory = openSync(this.#directory, 'r')
    fsyncSync(directory)
    closeSync(directory)
  }

  #path(number: number): string {
    return join(this.#directory, `${String(number).padStart(6, '0')}.json`)
  }

  /** Reads the directory if it has changed. */
  #refresh(): void {
    const stat = statSync(this.#directory, { throwIfNoEntry: false })
    const seen = stat === undefined ? '' : `${stat.ino}.${stat.mtimeMs}.${stat.ctimeMs}`
    if (seen === this.#seen) return
    const names = stat === undefined ? [] : guarded(this.#directory, () => readdirSync(this.#directory))
    this.#files = names
      .filter((name) => /^\d{6,15}\.json$/.test(name))
      .map((name) => ({ number: Number.parseInt(name, 10), key: readKey(join(this.#directory, name)) }))
      .toSorted((one, other) => one.number - other.number)
    this.#seen = seen
  }
}

function readKey(file: string): SigningKey {
  try {
    const { kid, createdAt, privateKey } = JSON.parse(readFileSync(file, 'utf8')) as {
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
    throw new PagecacheError('STORE_DAMAGED', `${file} is not a readable key`, {
      hint: 'Restore it from a backup, or move it away: then its tokens become invalid and clients request new ones.',
    })
  }
}

function guarded<T>(directory: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof PagecacheError) throw error
    throw new PagecacheError('STORE_FULL', `${directory} cannot be used: ${(error as Error).message}`, {
      hint: 'Check the free space and the permissions of the directory.',
      cause: error,
    })
  }
}
