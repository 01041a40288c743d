import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { recentInvalidations } from '#src/operations/purge-log.ts'

const columns: readonly Column<EntryOf<typeof recentInvalidations>>[] = [
  { name: 'at', value: (item) => item.at, kind: 'time' },
  { name: 'source', value: (item) => item.source },
  { name: 'actor', value: (item) => item.actor, kind: 'text', minor: true },
  { name: 'scope', value: (item) => item.scope },
  { name: 'value', value: (item) => item.value, kind: 'url' },
  { name: 'pages', value: (item) => item.pagesRemoved, minor: true },
]

export default class InvalidationLogRecent extends BaseCommand {
  static override summary = 'List invalidations, newest first, with their source, actor and effect.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Find who clears everything',
      command: `<%= config.bin %> <%= command.id %> --limit 1000 --json | jq '.items[] | select(.scope == "all")'`,
    },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(InvalidationLogRecent)
    const empty = 'No invalidation is in the log.'
    return this.perform(recentInvalidations, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentList({ columns, ...value, noun: 'invalidation', empty }, output, flags),
    )
  }
}
