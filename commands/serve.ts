import * as Flags from '@oclif/core/flags'
import { App } from '#src/app.ts'
import type { Log } from '#src/daemon/log.ts'
import type { Parent } from '#src/daemon/parent.ts'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { interruptible } from '#src/cli/interrupt.ts'
import { readChannelUrls } from '#src/config/channel-urls.ts'
import { loadConfig, type LoadedConfig } from '#src/config/load.ts'
import { PagecacheError } from '#src/errors.ts'

export default class Serve extends BaseCommand {
  static override summary = 'Run the daemon: the cache in front of the shop.'
  static override exitCodes = exitCodes.local
  static override examples = [
    {
      description: 'The shortest way to a cache: one shop, the daemon is its public address',
      command: '<%= config.bin %> <%= command.id %> --origin http://127.0.0.1:8000',
    },
    {
      description: 'The sales channels of pagecache.yaml, on port 80 of all addresses',
      command: '<%= config.bin %> <%= command.id %> --host 0.0.0.0 --port 80',
    },
  ]
  static override flags = {
    origin: Flags.string({
      summary: 'Where the shop answers; instead of the configured sales channels.',
      helpValue: '<url>',
    }),
    url: Flags.string({
      summary: 'The public URL of that shop, where it is not the address of the daemon.',
      helpValue: '<url>',
      dependsOn: ['origin'],
    }),
    host: Flags.string({ summary: 'The address to listen on.', helpValue: '<address>' }),
    'no-workers': Flags.boolean({ summary: 'Leave the messages of the queue to messenger:consume.' }),
    processes: Flags.integer({
      summary: 'How many processes answer requests; beside them one works on the queue.',
      min: 1,
      max: 64,
      helpValue: '<number>',
    }),
    socket: Flags.string({
      summary: 'A Unix socket to listen on, instead of an address.',
      helpValue: '<path>',
      exclusive: ['host'],
    }),
    port: Flags.integer({
      summary: 'The port to listen on; 0 for any free one.',
      min: 0,
      max: 65_535,
      helpValue: '<port>',
    }),
  }

  #log: Log | null = null
  #parent: Parent | null = null

  async run() {
    const { flags } = await this.parse(Serve)
    this.configValues = [
      ...(flags.host === undefined ? [] : [{ path: ['server', 'host'] as const, value: flags.host, flag: 'host' }]),
      ...(flags.socket === undefined
        ? []
        : [{ path: ['server', 'socket'] as const, value: flags.socket, flag: 'socket' }]),
      ...(flags.processes === undefined
        ? []
        : [{ path: ['server', 'processes'] as const, value: flags.processes, flag: 'processes' }]),
      ...(flags.port === undefined ? [] : [{ path: ['server', 'port'] as const, value: flags.port, flag: 'port' }]),
    ]
    const single = flags.origin === undefined ? null : readChannelUrls({ origin: flags.origin, url: flags.url ?? null })
    return this.withApp(async (app) => {
      const { serve } = await import('#src/daemon/serve.ts')
      // Not the app's signal: a reload puts another app in its place.
      const { url } = await interruptible((stop) =>
        serve(app, {
          ...{ single, stop, works: !flags['no-workers'], terminal: process.stderr.isTTY === true },
          ...{ parent: this.#parent, reload: () => this.reload(app.loaded.file), open: (loaded) => this.open(loaded) },
          onLog: (log) => {
            this.#log = log
          },
          onReady: (listening, channels, log) => {
            if (channels.length === 0 && single === null)
              log.warn(
                'No sales channel is configured: every visitor gets a 421. Name one in pagecache.yaml, or use --origin.',
              )
            for (const channel of channels) log.info(`${channel.name}: ${channel.url} from ${channel.origin}`)
            log.info(`pagecache listens on ${listening}`)
          },
        }),
      )
      return { success: true as const, url }
    })
  }

  protected override tell(message: string): void {
    if (this.#log === null) super.tell(message)
    else this.#log.warn(message)
  }

  /** One of several processes has its configuration from the one that started it: all work with the same. */
  protected override async load(): Promise<LoadedConfig> {
    const { meetParent } = await import('#src/daemon/parent.ts')
    this.#parent = await meetParent()
    return this.#parent === null ? this.complete(await super.load()) : this.#parent.takeConfig()
  }

  /** The configuration as it is now. @throws CONFIG_INVALID */
  private async reload(fileBefore: string | null): Promise<LoadedConfig> {
    const loaded = await loadConfig(this.given)
    // Whoever writes it may be between removing and renaming; without it no sales channel would be left.
    if (fileBefore !== null && loaded.file === null)
      throw new PagecacheError('CONFIG_INVALID', `The configuration file ${fileBefore} is gone.`)
    return this.complete(loaded)
  }

  /** With what is in files beside it, so that it is found faulty here, and none of several processes reads them. */
  private async complete(loaded: LoadedConfig): Promise<LoadedConfig> {
    const { withCustomerKey } = await import('#src/auth/customer-key.ts')
    return withCustomerKey(loaded)
  }

  private open(loaded: LoadedConfig): App {
    const app = new App({ loaded, onWarning: (message) => this.tell(message) })
    app.ownSignals()
    return app
  }
}
