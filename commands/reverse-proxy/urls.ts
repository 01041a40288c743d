import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { purgedUrls } from '#src/operations/purge-log.ts'

const columns: readonly Column<EntryOf<typeof purgedUrls>>[] = [
  { name: 'last purged', value: (item) => item.lastPurgedAt, kind: 'time' },
  { name: 'purges', value: (item) => item.purges },
  { name: 'url', value: (item) => item.url, kind: 'url' },
]

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
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ReverseProxyUrls)
    const empty = 'No purged URL is in the log.'
    return this.perform(purgedUrls, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentList({ columns, ...value, noun: 'URL', empty }, output, flags),
    )
  }
}
