import { randomBytes } from 'node:crypto'
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
import { KeyRing, parseKey, type KeyRingOptions } from './key-ring.ts'

export interface KeyFilesOptions extends KeyRingOptions {
  /** Its directory `keys/` contains one file (mode 0600) for each key. */
  dataDir: string
}

/** Signing keys in files, each linked into place complete. Each use notices changes of the directory. */
export class KeyFiles extends KeyRing {
  readonly #directory: string
  readonly #refreshOncePerTurn = oncePerTurn(() => this.refresh())
  #seen = ''

  /** @throws STORE_DAMAGED, STORE_FULL */
  constructor({ dataDir, ...options }: KeyFilesOptions) {
    super(options)
    this.#directory = join(dataDir, 'keys')
    this.#guarded(() => makeDirectory(this.#directory, 0o700))
    this.refresh()
  }

  override has(kid: string): boolean {
    this.#refreshOncePerTurn()
    return super.has(kid)
  }

  protected override refresh(): void {
    const stat = statSync(this.#directory, { throwIfNoEntry: false })
    const seen = stat === undefined ? '' : `${stat.ino}.${stat.mtimeMs}.${stat.ctimeMs}`
    if (seen === this.#seen) return
    const names = stat === undefined ? [] : this.#guarded(() => readdirSync(this.#directory))
    this.keys = names
      .filter((name) => /^\d{6,15}\.json$/.test(name))
      .map((name) => ({ number: Number.parseInt(name, 10), key: this.#read(join(this.#directory, name)) }))
      .toSorted((one, other) => one.number - other.number)
    this.#seen = seen
  }

  protected override save(number: number, content: string): void {
    this.#guarded(() => {
      // It may have been deleted since. Its parent is created by the records only.
      if (!existsSync(this.#directory)) mkdirSync(this.#directory, { mode: 0o700 })
      this.#write(this.#path(number), content)
    })
  }

  protected override remove(numbers: readonly number[]): void {
    for (const number of numbers) this.#guarded(() => rmSync(this.#path(number), { force: true }))
  }

  #read(file: string) {
    return parseKey(
      this.#guarded(() => readFileSync(file, 'utf8')),
      file,
    )
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

  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (error instanceof PagecacheError) throw error
      throw new PagecacheError('STORE_FULL', `${this.#directory} cannot be used: ${(error as Error).message}`, {
        hint: 'Check the free space and the permissions of the directory.',
        cause: error,
      })
    }
  }
}
