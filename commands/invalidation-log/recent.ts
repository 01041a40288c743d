import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { recentInvalidations } from '#src/operations/purge-log.ts'

export default class InvalidationLogRecent extends BaseCommand {
  static override summary = 'List invalidations, newest first, with their source, actor and effect.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Find who clears everything',
      command: `<%= config.bin %> <%= command.id %> --limit 1000 --json | jq '.items[] | select(.scope == "all")'`,
    },
  ]
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(InvalidationLogRecent)
    return this.perform(
      recentInvalidations,
      { limit: flags.limit, offset: flags.offset },
      async ({ items, total }, output) => {
        const rows = items.map((item) => [item.at, item.source, item.actor, item.scope, item.value, item.pagesRemoved])
        await output.table(['at', 'source', 'actor', 'scope', 'value', 'pages'], rows)
        output.more(items.length, total, 'invalidation')
      },
    )
  }
}
