import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'

export default class Demo extends BaseCommand {
  static override summary = 'Demonstrate the cache with a demo shop: warmup, statistics, popup stages, purge.'
  static override description = `Starts a shop with more than 600 pages and a cache in front of it, on this machine and in a temporary directory.
Takes less than a minute and cleans up after itself.`
  static override exitCodes = exitCodes.local
  static override examples = [
    { description: 'Run the demo', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Keep the shop and the cache running afterwards',
      command: '<%= config.bin %> <%= command.id %> --keep --port 8080',
    },
  ]
  static override flags = {
    keep: Flags.boolean({ summary: 'Keep the shop and the cache running until Ctrl-C.' }),
    port: Flags.integer({
      summary: 'Port of the cache; default: a free one.',
      min: 1,
      max: 65_535,
      helpValue: '<port>',
    }),
    shopware: Flags.option({
      options: ['6.6', '6.7', '6.8'] as const,
      summary: 'Version of Shopware that the demo shop imitates.',
      default: '6.7' as const,
      helpValue: '<version>',
    })(),
  }

  protected override reportsMismatch = false

  async run() {
    const { flags } = await this.parse(Demo)
    const { keep, port = null, shopware: version } = flags
    const { startDemo } = await import('#src/cli/demo.ts')
    return this.withApp(({ signal }) =>
      startDemo({ root: this.config.root, port, keep, version, json: this.jsonEnabled(), signal }),
    )
  }
}
