import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { plural } from '#src/lib/plural.ts'
import { purgedUrls } from '#src/operations/purge-log.ts'

export default class ReverseProxyUrls extends BaseCommand {
  static override summary = 'List the URLs that were purged, by name or with what was named, the last purged first.'
  static override examples = [
    { description: 'The last fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'A thousand of them as plain URLs',
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
      if (output.terminal && items.length < total)
        output.line(`${items.length} of ${plural(total, 'URL')}. More with --limit and --offset.`)
    })
  }
}
