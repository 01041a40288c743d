import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import {
  daemonFile,
  digestSettings,
  formatVersion,
  needsRestart,
  readDaemon,
  staleAfter,
  type RunningDaemon,
} from '../config/running-daemon.ts'
import { leaves } from '../config/keys.ts'
import type { LoadedConfig } from '../config/load.ts'
import { singleChannelId, type SingleShop } from '../config/single-shop.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { isSame, thisProcess } from '../lib/process-identity.ts'

/** Keeps the description of this daemon up to date, from its start to its end. */
export class DaemonFile {
  readonly #dataDir: string
  readonly #onError: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  #daemon: RunningDaemon

  /** @param onError called when the file cannot be written; the daemon works without it */
  constructor(
    loaded: LoadedConfig,
    listening: { url: string; port: number | null },
    onError: (error: unknown) => void,
  ) {
    this.#dataDir = loaded.places.dataDir
    this.#onError = onError
    const salt = randomUUID()
    this.#daemon = {
      version: formatVersion,
      process: thisProcess(),
      ...listening,
      startedAt: Date.now(),
      loads: 1,
      reloadError: null,
      salt,
      ...describe(loaded, salt),
    }
    this.#write()
    this.#timer = setInterval(() => this.#touch(), staleAfter / 3).unref()
  }

  /** Notes that the daemon has tried to read its configuration again. `loaded` is null where it kept the previous one. */
  reloaded(loaded: LoadedConfig | null, error: string | null): void {
    const before = this.#daemon
    this.#daemon = { ...before, loads: before.loads + 1, reloadError: error }
    if (loaded !== null) {
      const next = describe(loaded, before.salt)
      const kept = Object.entries(before.settings).filter(([key]) => needsRestart(key))
      this.#daemon = { ...this.#daemon, ...next, settings: { ...next.settings, ...Object.fromEntries(kept) } }
    }
    this.#write()
  }

  close(): void {
    clearInterval(this.#timer)
    const written = readDaemon(this.#dataDir)
    // Another daemon of the project may have started meanwhile.
    if (written !== null && isSame(written.process, this.#daemon.process))
      rmSync(daemonFile(this.#dataDir), { force: true })
  }

  #touch(): void {
    const now = new Date()
    try {
      utimesSync(daemonFile(this.#dataDir), now, now)
    } catch {
      // The disk may have been full until now. A state directory that was removed is reported by the records, and not created anew.
      if (existsSync(this.#dataDir) && !existsSync(daemonFile(this.#dataDir))) this.#write(() => {})
    }
  }

  #write(onError = this.#onError): void {
    const path = daemonFile(this.#dataDir)
    const draft = `${path}.${process.pid}`
    try {
      makeDirectory(this.#dataDir, 0o700)
      writeFileSync(draft, `${JSON.stringify(this.#daemon)}\n`, { mode: 0o600 })
      renameSync(draft, path)
    } catch (error) {
      rmSync(draft, { force: true })
      onError(error)
    }
  }
}

function describe(loaded: LoadedConfig, salt: string) {
  const { salesChannels } = loaded.config
  const flagged = leaves({ ...loaded.config, salesChannels: [] }).filter(
    ({ path }) => path[0] !== 'salesChannels' && loaded.sourceOf(path).kind === 'flag',
  )
  return {
    configFile: loaded.file,
    shop: shopOf(loaded),
    channels: salesChannels.map(({ id, name, url }) => ({ id, name, url })),
    flags: flagged as RunningDaemon['flags'],
    settings: digestSettings(loaded, salt),
  }
}

function shopOf({ config }: LoadedConfig): SingleShop | null {
  const [channel] = config.salesChannels
  return channel?.id === singleChannelId ? { origin: channel.origin, url: channel.url } : null
}
