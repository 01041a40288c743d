import { Connection, type ConnectionOptions, type Reply } from './connection.ts'
import { namesOf, type Names } from './names.ts'
import type { Use } from './refusals.ts'
import type { Script } from './scripts.ts'

export interface ServerOptions extends Omit<ConnectionOptions, 'prepare'> {
  /** The secret of all nodes. */
  secret(): Promise<Buffer>
}

/** Redis as the shared pages use it: with the keys of this installation. Every call fails at once while Redis does. */
export class Server {
  readonly #connection: Connection
  #names: Names | null = null

  constructor({ secret, ...options }: ServerOptions) {
    this.#connection = new Connection({
      ...options,
      prepare: async () => {
        this.#names ??= namesOf(await secret())
      },
    })
  }

  /** The server, without credentials. */
  get name(): string {
    return this.#connection.name
  }

  /** Resolves when the first attempt to connect has ended. */
  ready(): Promise<void> {
    return this.#connection.attempted
  }

  /** Why pages are not read or written; null while they are. */
  get faults(): { read: string | null; write: string | null } {
    return { read: this.#connection.fault('read'), write: this.#connection.fault('write') }
  }

  /** The keys of this installation. @throws Unavailable while commands of this kind fail */
  names(use: Use): Names {
    this.#connection.assert(use)
    return this.#names!
  }

  /** @throws Unavailable, TooLate, or an error of Redis */
  run(use: Use, args: readonly (string | Buffer)[]): Promise<Reply> {
    return this.#connection.run(use, args)
  }

  /** Runs a script on a key. @throws as `run` */
  async script({ use, source, sha }: Script, key: string, ...args: readonly (string | Buffer)[]): Promise<Reply> {
    try {
      return await this.run(use, ['EVALSHA', sha, '1', key, ...args])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return this.run(use, ['EVAL', source, '1', key, ...args])
    }
  }

  close(): void {
    this.#connection.close()
  }
}
