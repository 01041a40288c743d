import { tmpdir } from 'node:os'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { processVariables } from '#src/config/environment.ts'

export default class Demo extends BaseCommand {
  static override summary = 'Show the whole round on a demo shop: cache, warmup, statistics, popup stages, clear.'
  static override description =
    'Starts a shop with more than 600 pages and the cache before it, both on this machine alone and in a temporary directory, and shows what the cache does. Takes less than a minute and leaves nothing behind.'
  static override exitCodes = exitCodes.local
  static override examples = [
    { description: 'The whole round', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Leave shop and cache running to play with',
      command: '<%= config.bin %> <%= command.id %> --keep --port 8080',
    },
  ]
  static override flags = {
    keep: Flags.boolean({ summary: 'Leave shop and cache running until Ctrl-C.' }),
    port: Flags.integer({
      summary: 'Port of the cache; any free one without it.',
      min: 1,
      max: 65_535,
      helpValue: '<port>',
    }),
  }

  async run() {
    const { flags } = await this.parse(Demo)
    const json = this.jsonEnabled()
    const variables = processVariables()
    const { runDemo } = await import('#src/demo/run.ts')
    return this.withApp((app) =>
      runDemo({
        root: this.config.root,
        // Started by `npm run demo` there is a checkout, and no pagecache on the path.
        program: variables['npm_lifecycle_event'] === 'demo' ? 'npx pagecache' : 'pagecache',
        temporary: tmpdir(),
        port: flags.port ?? null,
        keep: flags.keep,
        latency: 'on',
        // With --json stdout is the value alone.
        output: json ? 2 : 1,
        write: (text) => void (json ? process.stderr : process.stdout).write(text),
        signal: app.signal,
        variables,
      }),
    )
  }
}
