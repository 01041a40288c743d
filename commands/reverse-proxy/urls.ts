import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { purgedUrls } from '#src/operations/purge-log.ts'

export default class ReverseProxyUrls extends BaseCommand {
  static override summary = 'List purged URLs, the last purged first.'
  static override description = 'Includes URLs that were purged by tag or entity.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Print a thousand URLs',
      command: '<%= config.bin %> <%= command.id %> --limit 1000 --json | jq -r ".items[].url"',
    },
  ]
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(ReverseProxyUrls)
    return this.perform(purgedUrls, { limit: flags.limit, offset: flags.offset }, async ({ items, total }, output) => {
      await output.table(
        ['last purged', 'purges', 'url'],
        items.map((item) => [item.lastPurgedAt, item.purges, item.url]),
      )
      output.more(items.length, total, 'URL')
    })
  }
}
