import * as Flags from '@oclif/core/flags'
import type { OutputFlags } from '@oclif/core/interfaces'
import { App } from '../app.ts'
import { findDaemon } from '../config/running-daemon.ts'
import type { Config } from '../config/schema.ts'
import { readChannelUrls } from '../config/channel-urls.ts'
import { withErrorPage } from '../config/error-page.ts'
import { loadConfig, type ConfigFlags, type LoadedConfig } from '../config/load.ts'
import type { Log } from '../daemon/log.ts'
import type { Parent } from '../daemon/parent.ts'
import type { ServeOptions } from '../daemon/serve.ts'
import { ownUrl, withSingleShop, type SingleShop } from '../config/single-shop.ts'
import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/safe-text.ts'
import { interruptible } from './interrupt.ts'

/** Flags of serve. */
export const serveFlags = {
  origin: Flags.string({ summary: 'URL of the shop; replaces the configured sales channels.', helpValue: '<url>' }),
  url: Flags.string({
    summary: "Public URL of that shop; default: the daemon's address.",
    helpValue: '<url>',
    dependsOn: ['origin'],
  }),
  host: Flags.string({ summary: 'Address to listen on.', helpValue: '<address>' }),
  'no-workers': Flags.boolean({ summary: 'Do not process the queue; run messenger:consume instead.' }),
  processes: Flags.integer({
    summary: 'Processes that serve requests; with more than one, another process works on the queue.',
    min: 1,
    max: 64,
    helpValue: '<number>',
  }),
  socket: Flags.string({
    summary: 'Unix socket to listen on, instead of an address.',
    helpValue: '<path>',
    exclusive: ['host'],
  }),
  migrate: Flags.boolean({
    summary: 'Migrate a PostgreSQL database that an older version has made; by default the daemon refuses it.',
  }),
  'watch-config': Flags.boolean({ summary: 'Read the configuration again whenever its file changes.' }),
  shop: Flags.option({
    options: ['plain', 'shopware'] as const,
    summary: 'Kind of shop, whose defaults apply to the cache.',
  })(),
  ttl: Flags.string({
    summary: 'Time to keep pages for which the shop names none, such as 10m; sets cache.defaultTtl.',
    helpValue: '<duration>',
  }),
  port: Flags.integer({ summary: 'Port to listen on; 0 picks a free one.', min: 0, max: 65_535, helpValue: '<port>' }),
}

export type ServeFlags = OutputFlags<typeof serveFlags>

/** The settings that the flags replace. */
export function toConfigValues(flags: ServeFlags): NonNullable<ConfigFlags['values']> {
  const paths = {
    host: ['server', 'host'],
    socket: ['server', 'socket'],
    processes: ['server', 'processes'],
    port: ['server', 'port'],
    ttl: ['cache', 'defaultTtl'],
    shop: ['shop'],
  } as const
  return (Object.keys(paths) as (keyof typeof paths)[]).flatMap((flag) => {
    const value = flags[flag]
    return value === undefined ? [] : [{ path: paths[flag], value, flag }]
  })
}

/** Runs the daemon for the serve command. Loads src/daemon when the configuration is loaded, not before. */
export class DaemonRunner {
  #log: Log | null = null
  #parent: Parent | null = null
  #shop: SingleShop | null = null

  /** Logs a warning. Returns false before the log is open. */
  warn(message: string): boolean {
    this.#log?.warn(message)
    return this.#log !== null
  }

  /** Loads the configuration; a child process takes it from its parent, so that all processes use the same one. */
  async load({ origin, url = null }: ServeFlags, configFlags: ConfigFlags): Promise<LoadedConfig> {
    const { meetParent } = await import('../daemon/parent.ts')
    this.#parent = await meetParent()
    if (this.#parent !== null) return this.#parent.takeConfig()
    const named = origin === undefined ? null : readChannelUrls({ origin, url })
    const loaded = await withFiles(await loadConfig(configFlags))
    if (named === null) return loaded
    const listening = await withPort(loaded)
    const { host, port } = listening.config.server
    this.#shop = { origin: named.origin, url: named.url ?? ownUrl(host, port) }
    return this.#withShop(listening)
  }

  #withShop(loaded: LoadedConfig): LoadedConfig {
    return this.#shop === null ? loaded : withSingleShop(loaded, this.#shop, { kind: 'flag', name: 'origin' })
  }

  /** Runs until SIGINT or SIGTERM. @throws LISTEN_FAILED when the address is in use or not available on this machine */
  async run(app: App, flags: ServeFlags, configFlags: ConfigFlags): Promise<{ success: true; url: string }> {
    const { serve } = await import('../daemon/serve.ts')
    const options: Omit<ServeOptions, 'stop'> = {
      works: !flags['no-workers'],
      watchesConfig: flags['watch-config'],
      terminal: process.stderr.isTTY === true,
      parent: this.#parent,
      reload: async () => this.#withShop(await reloadConfig(configFlags, app.loaded.file)),
      open: (loaded) => this.#open(loaded, flags.migrate),
      onLog: (log) => {
        this.#log = log
      },
      onReady: (listening, channels, log) => {
        if (channels.length === 0)
          log.warn(
            'No sales channel is configured, so every request gets a 421. Add one to pagecache.yaml or use --origin.',
          )
        for (const channel of channels) log.info(`${channel.name}: ${channel.url} from ${maskUrls(channel.origin)}`)
        log.info(`pagecache listens on ${listening}`)
        if (process.stderr.isTTY === true) process.stderr.write(greeting(listening, app.config))
      },
    }
    // Not the app's signal: a reload replaces the app.
    const daemon = await interruptible((stop) => serve(app, { ...options, stop })).catch((error: unknown) => {
      throw explainOwnDaemon(error, app)
    })
    return { success: true, url: daemon.url }
  }

  #open(loaded: LoadedConfig, mayUpgrade: boolean): App {
    const app = new App({ loaded, onWarning: (message) => void this.warn(message), mayUpgrade })
    app.ownSignals()
    return app
  }
}

/** Names the project's own daemon where its port is the one in use. */
function explainOwnDaemon(error: unknown, { config, loaded }: App): unknown {
  if (!(error instanceof PagecacheError && error.code === 'LISTEN_FAILED')) return error
  const running = findDaemon(loaded.places.dataDir)
  if (running === null || running.port !== config.server.port) return error
  return new PagecacheError(
    'LISTEN_FAILED',
    `The daemon of this project runs already: ${running.url}, process ${running.process.pid}.`,
    {
      hint: 'Have it read a changed configuration with: pagecache config:reload. To start it anew, stop it first.',
      cause: error,
    },
  )
}

/** What an operator who has started the daemon on a terminal may want to do next. */
function greeting(listening: string, { auth, server }: Config): string {
  const rows = [
    ...(server.socket === null ? [['Admin page', `${listening}/admin`]] : []),
    ...(auth.mode === 'builtin'
      ? [['Log in with', 'the client that this makes: pagecache client:create operator']]
      : []),
    ['Fill it', 'pagecache warmup:start --wait'],
    ['Watch it', 'pagecache monitor'],
    ['Check it', 'pagecache doctor'],
    ['Stop it', 'Ctrl-C'],
  ]
  return `\n${rows.map(([what, how]) => `  ${what!.padEnd(13)}${how}\n`).join('')}\n`
}

/** Chooses the port where any free one will do: it is part of the URL of a shop that has no other. */
async function withPort(loaded: LoadedConfig): Promise<LoadedConfig> {
  const { server } = loaded.config
  if (server.port !== 0 || server.socket !== null) return loaded
  const { freePort } = await import('../daemon/listen.ts')
  const port = await freePort(server.host)
  return { ...loaded, config: { ...loaded.config, server: { ...server, port } } }
}

/** @throws CONFIG_INVALID */
async function reloadConfig(flags: ConfigFlags, previousFile: string | null): Promise<LoadedConfig> {
  const loaded = await loadConfig(flags)
  // An editor may be replacing the file; the defaults have no sales channels.
  if (previousFile !== null && loaded.file === null)
    throw new PagecacheError('CONFIG_INVALID', `The configuration file ${previousFile} no longer exists.`)
  return withFiles(loaded)
}

/** Reads the files that the configuration names, so that a bad one is reported now and child processes need not read it. */
async function withFiles(loaded: LoadedConfig): Promise<LoadedConfig> {
  const { withCustomerKey } = await import('../auth/customer-key.ts')
  return withErrorPage(await withCustomerKey(loaded))
}
