import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hasEnded, thisProcess, type ProcessIdentity } from '../lib/process-identity.ts'
import { leaves } from './keys.ts'
import type { LoadedConfig } from './load.ts'
import { withValue, writeKeyPath, type KeyPath, type Source } from './raw.ts'
import type { Config } from './schema.ts'
import { withSingleShop, type SingleShop } from './single-shop.ts'

/** What a daemon writes down about itself for the other commands of its project. */
export interface RunningDaemon {
  version: typeof formatVersion
  process: ProcessIdentity
  /** Where it listens, for people. */
  url: string
  /** Null: it listens on a socket. */
  port: number | null
  /** Milliseconds since the epoch. */
  startedAt: number
  /** How often it has tried to read its configuration, the start included. */
  loads: number
  /** Why the last try failed; null if it succeeded. */
  reloadError: string | null
  configFile: string | null
  /** The shop of `serve --origin`; null: the configured sales channels. */
  shop: SingleShop | null
  channels: { id: string; name: string; url: string }[]
  /** The settings given as flags, which replace those of the file. */
  flags: { path: string[]; value: unknown }[]
  salt: string
  /** A salted digest of each setting, by key path. */
  settings: Record<string, string>
}

export const formatVersion = 1

type Tree = Record<string, unknown>

/** Milliseconds after which a file that its daemon has not touched is left over from a killed one. */
export const staleAfter = 30_000

/** Settings that take effect at the next start only. */
export function needsRestart(key: string): boolean {
  return /^(?:server|log)\b/.test(key)
}

export function daemonFile(dataDir: string): string {
  return join(dataDir, 'daemon.json')
}

/** Reads the file of a daemon; null without one, and for one of another version of the program. */
export function readDaemon(dataDir: string): RunningDaemon | null {
  try {
    const daemon = JSON.parse(readFileSync(daemonFile(dataDir), 'utf8')) as RunningDaemon
    return daemon.version === formatVersion ? daemon : null
  } catch {
    return null
  }
}

/** The running daemon of a state directory; null without one. */
export function findDaemon(dataDir: string): RunningDaemon | null {
  const daemon = readDaemon(dataDir)
  if (daemon === null || hasEnded(daemon.process, thisProcess())) return null
  // Its process cannot be seen from another container, and not after a restart of the machine.
  const touchedAt = statSync(daemonFile(dataDir), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Date.now() - touchedAt < staleAfter ? daemon : null
}

/** Digests the settings that a daemon uses, by key path. */
export function digestSettings({ config }: LoadedConfig, salt: string) {
  const digest = (value: unknown) =>
    createHash('sha256').update(salt).update(JSON.stringify(value)).digest('base64url').slice(0, 12)
  return Object.fromEntries(
    leaves({ ...config, profiles: {} }).map(({ path, value }) => [writeKeyPath(path), digest(value)]),
  )
}

/**
 * Adopts the flags of the running daemon, so that a command finds its pages and decides as it does. The shop of `serve --origin` does not
 * replace sales channels that the command has of its own (see `compareWithDaemon`).
 */
export function withDaemonsFlags(loaded: LoadedConfig, { flags, shop }: RunningDaemon): LoadedConfig {
  const config = flags.reduce((tree, { path, value }) => withValue(tree, path, value), loaded.config as Tree) as Config
  const adopted = new Set(flags.map(({ path }) => writeKeyPath(path)))
  const sourceOf = (path: KeyPath): Source =>
    adopted.has(writeKeyPath(path)) ? { kind: 'daemon' } : loaded.sourceOf(path)
  const withFlags = { ...loaded, config, sourceOf }
  return shop === null || config.salesChannels.length > 0
    ? withFlags
    : withSingleShop(withFlags, shop, { kind: 'daemon' })
}

/** How a command's configuration differs from the running daemon's, in one sentence, and what to do. */
export interface Mismatch {
  message: string
  remedy: string
}

/** Compares a configuration with that of the running daemon; null where they agree. */
export function compareWithDaemon(loaded: LoadedConfig, daemon: RunningDaemon): Mismatch | null {
  const name = `The running daemon (process ${daemon.process.pid})`
  const file = loaded.file ?? loaded.places.configFile
  const keys = differingKeys(loaded, daemon)
  // A reload never replaces a shop given by a flag, whatever channels the file has.
  if (daemon.shop !== null && keys.some((key) => key.startsWith('salesChannels')))
    return {
      message: `${name} serves ${daemon.shop.url} for serve --origin, not the sales channels of ${file}.`,
      remedy: 'Stop it and start it without --origin: pagecache serve',
    }
  if (keys.length === 0) return null
  const shown = keys.slice(0, 5).map((key) => nameSetting(key, loaded))
  const more = keys.length > shown.length ? ` and ${keys.length - shown.length} more` : ''
  return {
    message: `${name} has other settings than this command: ${shown.join(', ')}${more}.`,
    remedy: remedyFor(keys, loaded, daemon),
  }
}

/** Advises how to apply the configuration. A reload reads the file that the daemon was started with. */
function remedyFor(keys: readonly string[], { file, places }: LoadedConfig, { configFile }: RunningDaemon): string {
  if (keys.every(needsRestart)) return 'They take effect when the daemon is restarted.'
  if (configFile !== null && file === null) return `It was started with ${configFile}: restore that file.`
  if (configFile !== null && file !== configFile)
    return `It reads ${configFile}: use that file too, or restart it with --config ${file}.`
  return `Reload ${file ?? places.configFile}: pagecache config:reload`
}

function differingKeys(loaded: LoadedConfig, daemon: RunningDaemon): string[] {
  const settings = digestSettings(loaded, daemon.salt)
  const keys = new Set([...Object.keys(settings), ...Object.keys(daemon.settings)])
  return [...keys].filter((key) => settings[key] !== daemon.settings[key])
}

/** A setting by its key, with the environment variable that the daemon may lack. */
function nameSetting(key: string, { config, sourceOf }: LoadedConfig): string {
  const leaf = leaves(config).find(({ path }) => writeKeyPath(path) === key)
  const source = leaf === undefined ? null : sourceOf(leaf.path)
  return source?.kind === 'variable' ? `${key} (from ${source.name})` : key
}
