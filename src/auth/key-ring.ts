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
  /** `keys/` in it holds a file (mode 0600) for each key. */
  dataDir: string
  /** Milliseconds since the epoch. */
  now: () => number
  /** How long a token is valid, milliseconds: so long a replaced key is still good for checking. */
  lifetime: number
}

/** So many keys are good at the same time at most: each is read again by every process whenever one is added. */
const mostKeys = 20

/** Clocks of processes may differ by so much (milliseconds). */
const leeway = 60_000

/**
 * The keys that tokens are signed with, one file each, numbered; the highest number signs. A file appears whole and under a name
 * that one process alone can take, so that processes that start at once agree. A change of the directory is noticed at the next use.
 */
export class KeyRing {
  readonly #directory: string
  readonly #now: () => number
  readonly #lifetime: number
  readonly #look = oncePerTurn(() => this.#refresh())
  #seen = ''
  #files: KeyFile[] = []

  /** Makes the first key where there is none. @throws STORE_DAMAGED, STORE_FULL */
  constructor({ dataDir, now, lifetime }: KeyRingOptions) {
    this.#directory = join(dataDir, 'keys')
    this.#now = now
    this.#lifetime = lifetime
    guarded(this.#directory, () => makeDirectory(this.#directory, 0o700))
    this.#refresh()
    if (this.#files.length === 0) this.#add(1)
  }

  /** The key that signs now. */
  current(): SigningKey {
    this.#refresh()
    const last = this.#files.at(-1)
    // The directory was emptied under us: all tokens are void, and signing goes on with a new key.
    return last === undefined ? this.#add(1) : last.key
  }

  /** The key of this id, exactly, while tokens of it may still be valid; null without one. */
  find(kid: string): SigningKey | null {
    this.#look()
    const index = this.#files.findIndex(({ key }) => key.kid === kid)
    return index < 0 || this.#isOver(index) ? null : this.#files[index]!.key
  }

  /**
   * Signs with a new key from now on. The old one goes on being good for what it has signed, unless all are dropped.
   *
   * @throws TOO_MANY_REQUESTS where the old ones that are still good are too many
   */
  rotate({ dropOld }: { dropOld: boolean }): SigningKey {
    this.#refresh()
    if (!dropOld && this.#files.filter((_, index) => !this.#isOver(index)).length >= mostKeys) {
      throw new PagecacheError('TOO_MANY_REQUESTS', `There are ${mostKeys} keys whose tokens are still valid.`, {
        hint: 'Wait until tokens have expired (auth.tokenLifetime), or void all of them with --drop-old.',
      })
    }
    const last = this.#files.at(-1)?.number ?? 0
    const key = this.#add(last + 1)
    for (const [index, { number }] of [...this.#files].entries()) {
      if (number <= last && (dropOld || this.#isOver(index)))
        guarded(this.#directory, () => rmSync(this.#path(number), { force: true }))
    }
    this.#refresh()
    return key
  }

  get size(): number {
    return this.#files.length
  }

  /** A key is over when all that it signed before it was replaced has expired. */
  #isOver(index: number): boolean {
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
      // It may have been deleted under us; the directory around it is made by the records alone.
      if (!existsSync(this.#directory)) mkdirSync(this.#directory, { mode: 0o700 })
      this.#write(this.#path(number), content)
    })
    this.#refresh()
    // Another process may have been first: its key is the one.
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

  /** Reads the directory where it has changed. */
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
      throw new Error('it holds no key of ours')
    const key = createPrivateKey({ key: privateKey, format: 'jwk' })
    return { kid, createdAt, privateKey: key, publicKey: createPublicKey(key) }
  } catch {
    // What the file holds is secret: no parser's message, which could quote it.
    throw new PagecacheError('STORE_DAMAGED', `${file} is no key that can be read`, {
      hint: 'Restore it from a backup, or move it away: tokens that it signed are void then, and clients fetch new ones.',
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
