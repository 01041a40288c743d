import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { readChannelUrls } from '#src/config/channel-urls.ts'
import { maskUrls } from '#src/lib/mask.ts'
import { printable } from '#src/lib/printable.ts'

/** How long requests in hand may take after SIGTERM, in milliseconds. */
const grace = 10_000

export default class Serve extends BaseCommand {
  static override summary = 'Run the daemon: the cache in front of the shop.'
  static override examples = [
    { description: 'The shortest way to a cache: one shop, the daemon is its public address', command: '<%= config.bin %> <%= command.id %> --origin http://127.0.0.1:8000' },
    { description: 'The sales channels of pagecache.yaml, on port 80 of all addresses', command: '<%= config.bin %> <%= command.id %> --host 0.0.0.0 --port 80' },
  ]
  static override flags = {
    origin: Flags.string({ summary: 'Where the shop answers; instead of the configured sales channels.', helpValue: '<url>' }),
    url: Flags.string({ summary: 'The public URL of that shop, where it is not the address of the daemon.', helpValue: '<url>', dependsOn: ['origin'] }),
    host: Flags.string({ summary: 'The address to listen on.', helpValue: '<address>' }),
    'no-workers': Flags.boolean({ summary: 'Leave the messages of the queue to messenger:consume.' }),
    port: Flags.integer({ summary: 'The port to listen on; 0 for any free one.', min: 0, max: 65_535, helpValue: '<port>' }),
  }

  async run() {
    const { flags } = await this.parse(Serve)
    this.configValues = [
      ...(flags.host === undefined ? [] : [{ path: ['server', 'host'] as const, value: flags.host, flag: 'host' }]),
      ...(flags.port === undefined ? [] : [{ path: ['server', 'port'] as const, value: flags.port, flag: 'port' }]),
    ]
    const single = flags.origin === undefined ? null : readChannelUrls({ origin: flags.origin, url: flags.url ?? null })
    return this.withApp(async (app) => {
      const { startDaemon } = await import('#src/http/daemon.ts')
      const daemon = await startDaemon(app, {
        ...app.config.server,
        single,
        onError: (message, error) => this.tell(`${message}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
      })
      if (app.config.server.processes > 1) this.tell('server.processes is not followed yet: one process serves.')
      if (daemon.channels.length === 0) this.tell('No sales channel is configured: every visitor gets a 421. Name one in pagecache.yaml, or use --origin.')
      for (const channel of daemon.channels) this.tell(printable(`${channel.name}: ${channel.url} from ${maskUrls(channel.origin)}`))
      this.tell(`pagecache listens on ${daemon.url}`)
      const { startWorkers } = await import('#src/operations/workers.ts')
      const workers = flags['no-workers'] ? null : startWorkers(app, { onTell: (message) => this.tell(message) })
      await new Promise<void>((resolve) => {
        if (app.signal.aborted) resolve()
        app.signal.addEventListener('abort', () => resolve(), { once: true })
      })
      await Promise.all([daemon.stop(grace), workers?.stop()])
      return { success: true as const, url: daemon.url }
    })
  }
}
