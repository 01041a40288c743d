import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { presentPurges } from '#src/cli/present-purges.ts'
import { recentPurges } from '#src/operations/purge-log.ts'

export default class ReverseProxyRecent extends BaseCommand {
  static override summary = 'List purges, newest first.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'List the fifty before them', command: '<%= config.bin %> <%= command.id %> --offset 50' },
  ]
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(ReverseProxyRecent)
    return this.perform(
      recentPurges,
      { limit: flags.limit, offset: flags.offset },
      async ({ items, total }, output) => {
        await presentPurges(items, output)
        output.more(items.length, total, 'purge')
      },
    )
  }
}
