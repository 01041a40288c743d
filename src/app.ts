import { join } from 'node:path'
import type { Failures } from './auth/failures.ts'
import type { Config } from './config/schema.ts'
import type { LoadedConfig } from './config/load.ts'
import { shareOf, timeoutsOf } from './config/origin-limits.ts'
import { aliasesOf } from './config/single-shop.ts'
import { steadyClock, type Clock } from './lib/clock.ts'
import { ownSignals } from './lib/own-signals.ts'
import { Parts } from './lib/parts.ts'
import { ThisNode } from './cluster/this-node.ts'
import { thisProcess } from './lib/process-identity.ts'
import type { PagecacheError } from './errors.ts'
import { oncePerTurn } from './lib/once-per-turn.ts'
import type { TypeRule } from './pages/type.ts'
import type { Channels } from './cache/channels.ts'
import type { SharedPages } from './cluster/shared/shared-pages.ts'
import type { PageStore } from './pages/page-store.ts'
import { toPlace, type Records, type RecordsPlace } from './records/records.ts'
import { Usability } from './records/usability.ts'
import type { Purging } from './purge/purging.ts'

export interface AppOptions {
  loaded: LoadedConfig
  /** Reports what an operator should know but is not an error, such as a repaired index or a full disk. */
  onWarning(message: string): void
  /** Whether to migrate a PostgreSQL database that an older version has made; SQLite's file always is. */
  mayUpgrade?: boolean
}

/**
 * The composition root. Opens each part on first use with its dependencies, and closes everything in reverse order. Handles the signals of
 * the process while it is open.
 */
export class App {
  readonly loaded: LoadedConfig
  /** The one clock of this process, milliseconds since the epoch. */
  readonly now: Clock = steadyClock()
  readonly #onWarning: (message: string) => void
  readonly #parts = new Parts()
  readonly #abort = new AbortController()
  #onThreadError: ((message: string, error: unknown) => void) | null = null
  readonly #place: RecordsPlace
  readonly node: ThisNode | null // Null on SQLite, with one machine.
  #openRecords: Records | null = null

  constructor(options: AppOptions) {
    this.loaded = options.loaded
    const { mayUpgrade = false } = options
    this.#place = toPlace(this.loaded.places.dataDir, { ...this.config.records, mayUpgrade })
    this.node = this.#place.postgres ? new ThisNode(this.config.cluster) : null
    this.#onWarning = options.onWarning
  }

  get config(): Config {
    return this.loaded.config
  }

  /** Aborted by the first SIGINT or SIGTERM: finish the work in progress and return. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The page store of this environment. */
  pages() {
    return this.#parts.open('pages', async () => {
      const { openFilesystemStore } = await import('./pages/filesystem-store.ts')
      return openFilesystemStore({
        directory: this.loaded.places.cacheDir,
        maxSize: this.config.cache.maxSize,
        publishesLimit: this.usesThreads,
        maxVariants: this.config.cache.maxVariants,
        now: this.now,
        onWarning: this.#onWarning,
        writer: this.usesThreads,
        compression: this.config.cache.compression,
      })
    })
  }

  /**
   * The page store for operators, with the pages in it that visitors have already got. An operator must not mistake an unusable store for
   * an empty cache. @throws STORE_BUSY, STORE_UNREADABLE, STORE_FULL
   */
  async usablePages(): Promise<PageStore> {
    const pages = await this.pages()
    const fault = pages.fault()
    if (fault !== null) throw fault
    await pages.settled({ kind: 'all' })
    return pages
  }

  /** The records of this environment: all durable state. */
  records() {
    return this.#parts.open('records', async () => {
      const { openRecords } = await import('./records/open.ts')
      return (this.#openRecords = await openRecords({ ...this.#place, now: this.now }))
    })
  }

  /** The error (STORE_LOST) that makes the open records unusable; null if they are usable or not open. */
  recordsFault(): PagecacheError | null {
    return this.#openRecords?.fault() ?? null
  }

  /** Why the records cannot be used now; null if they can. Asks PostgreSQL, at most once a second. */
  async recordsProblem(): Promise<PagecacheError | null> {
    return this.config.records.url === null ? this.recordsFault() : this.#usability.problem()
  }

  readonly #usability = new Usability(async () => (await this.records()).check())

  /** For threads: with connections of their own they would open, or carry on with, the files that replaced the records. */
  readonly #recordsFaultOfTurn = oncePerTurn(() => this.recordsFault())

  /** The queue of this environment. Uses the wall clock, which all processes of a machine share. */
  queue() {
    return this.#parts.open('queue', async () => {
      const { openQueue } = await import('./queue/records-queue.ts')
      return openQueue(await this.records(), Date.now)
    })
  }

  /** Stores pages and purges them in threads of their own, so that no visitor of this process waits. To be called first. */
  useThreads(onError: (message: string, error: unknown) => void): void {
    this.#onThreadError = onError
  }

  /** Whether pages are stored in a thread, and purged and delivered in another. */
  get usesThreads(): boolean {
    return this.#onThreadError !== null
  }

  /** The only way to invalidate pages. Its log uses the wall clock. */
  purges(): Promise<Purging> {
    return this.#parts.open('purges', async () => {
      const { purge, warmup } = this.config
      const warming = (await import('./warmup/after-purge.ts')).warmingAfterPurges(warmup.afterPurge, purge.softAbove)
      const proxies = this.config.reverseProxies.map((proxy) => proxy.name)
      const [pages, { cacheDir }] = [await this.pages(), this.loaded.places]
      if (this.#onThreadError !== null) {
        const { openPurger } = await import('./purge/purger.ts')
        return openPurger({
          records: this.#place,
          cacheDir,
          maxSize: pages.maxSize,
          maxVariants: this.config.cache.maxVariants,
          proxies,
          ...warming,
          pages,
          recordsFault: this.#recordsFaultOfTurn,
          onError: this.#onThreadError,
          node: this.node?.setup ?? null,
        })
      }
      const [{ openPurging }, { clearApplicationCache }] = await Promise.all([
        import('./purge/purging.ts'),
        import('./pages/filesystem-store.ts'),
      ])
      return openPurging({
        records: await this.records(),
        pages,
        queue: await this.queue(),
        now: Date.now,
        owner: thisProcess(),
        proxies,
        ...warming,
        clearDirectory: (trace) => clearApplicationCache(cacheDir, trace),
        cluster: await this.purgeCluster(),
      })
    })
  }

  /** The other nodes, for purges of a process without a purge thread; null with one machine. */
  async purgeCluster() {
    return this.node && this.node.purges((await this.records()).db, this.loaded.places.cacheDir)
  }

  /** The pages that all nodes share; null without `cache.shared.url`. */
  async sharedPages(): Promise<SharedPages | null> {
    const node = this.node
    if (this.config.cache.shared.url === null || node === null) return null
    const { openSharedPages } = await import('./cluster/shared/open.ts')
    return this.#parts.open('sharedPages', async () => openSharedPages(this, await node.clock(this), this.#onWarning))
  }

  /** The cache in front of the sales channels. `at`: where the daemon listens, and with how many processes (a command: 1). */
  storefrontCache(at: Pick<Config['server'], 'host' | 'port' | 'processes'> = { ...this.config.server, processes: 1 }) {
    return this.#parts.open('storefrontCache', async () => {
      const { buildCache } = await import('./cache/build.ts')
      const { ownHosts } = await import('./cache/own-hosts.ts')
      const { cache, origin, salesChannels } = this.config
      const own = ownHosts(at.host, at.port)
      return buildCache({
        channels: salesChannels,
        aliases: aliasesOf(salesChannels, own, at),
        ownHosts: own,
        store: await this.pages(),
        confirmedFile: join(this.loaded.places.cacheDir, 'confirmed.sqlite'),
        now: this.now,
        ...cache,
        shared: await this.sharedPages(),
        types: cache.types as TypeRule[],
        ...shareOf(origin, at.processes),
        onError: (message) => this.#onWarning(message),
        ...(this.usesThreads && this.node?.lease.reader),
      })
    })
  }

  /** Records the visitor events of popup stages on the sales channels. */
  tracker() {
    return this.#parts.open('tracker', async () => {
      const { openTracker } = await import('./stages/tracker.ts')
      return openTracker({
        ...this.#place,
        channels: this.config.salesChannels.map(({ id, name, url }) => ({ id, name, url })),
        recordsFault: this.#recordsFaultOfTurn,
      })
    })
  }

  /** The keys that sign tokens. */
  keys() {
    return this.#parts.open('keys', async () => {
      const { openKeys } = await import('./auth/open-keys.ts')
      const { tokenLifetime: lifetime } = this.config.auth
      const records = this.#place.postgres ? await this.records() : null
      return openKeys({ dataDir: this.loaded.places.dataDir, records, now: this.now, lifetime })
    })
  }

  /** Authorises API clients with tokens of this daemon (`auth.mode: builtin`). The first caller decides which failure counter is used. */
  authority(failures: Failures) {
    return this.#parts.open('authority', async () => {
      const [{ Authority }, records, keys] = await Promise.all([
        import('./auth/authority.ts'),
        this.records(),
        this.keys(),
      ])
      return new Authority(records, keys, this.config.auth.tokenLifetime, failures)
    })
  }

  /** Authorises API clients with tokens of the shop (`auth.mode: shop`), verified by requests to one of these channels. */
  shopAuthority(channels: Channels, failures: Failures) {
    return this.#parts.open('shopAuthority', async () => {
      const [{ ShopAuthority }, { acceptsToken }, { OriginClient }] = await Promise.all([
        import('./auth/shop-authority.ts'),
        import('./cache/admin-api.ts'),
        import('./cache/origin.ts'),
      ])
      const timeouts = timeoutsOf(this.config.origin)
      const timeout = Math.min(timeouts.headers, 10_000)
      const origin = new OriginClient({ ...timeouts, headers: timeout, total: timeout })
      this.onClose(() => origin.close())
      return new ShopAuthority(
        (token, host) => {
          const channel = channels.all.find((candidate) => candidate.host === host) ?? channels.all[0]
          return channel === undefined
            ? Promise.resolve(false)
            : acceptsToken(origin, channel, token, AbortSignal.timeout(timeout))
        },
        this.now,
        failures,
      )
    })
  }

  /** Verifies the shop's tokens for logged-in customers; null if none are configured. @throws CONFIG_INVALID for an invalid key */
  async customerTokens() {
    const { customerToken } = this.config.stages
    if (customerToken.cookie === null && customerToken.header === null) return null
    return this.#parts.open('customerTokens', async () => {
      const [{ CustomerTokens }, { toCustomerKey, withCustomerKey }] = await Promise.all([
        import('./auth/customer-tokens.ts'),
        import('./auth/customer-key.ts'),
      ])
      // A child process received the key with its configuration.
      const loaded = this.loaded.customerKey === undefined ? await withCustomerKey(this.loaded) : this.loaded
      return new CustomerTokens(toCustomerKey(loaded), customerToken, this.now)
    })
  }

  /** Registers a closer to run with `close`; the last one registered runs first. */
  onClose(closer: () => Promise<void> | void): void {
    this.#parts.onClose(closer)
  }

  /** Closes everything in reverse order of opening. Runs all closers, then throws the first error. */
  close(): Promise<void> {
    this.#openRecords = null
    return this.#parts.close()
  }

  /** Handles SIGINT and SIGTERM until the app is closed: the first one aborts `signal`, a second one exits at once. */
  ownSignals(onFirst?: (signal: NodeJS.Signals) => void): void {
    this.onClose(ownSignals(this.#abort, onFirst))
  }
}
