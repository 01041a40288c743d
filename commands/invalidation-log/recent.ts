import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, type Column, type EntryOf } from '#src/cli/list.ts'
import { presentLog, readLog, searchFlag } from '#src/cli/search-log.ts'
import { recentInvalidations } from '#src/operations/purge-log.ts'

const columns: readonly Column<EntryOf<typeof recentInvalidations>>[] = [
  { name: 'at', value: (item) => item.at, kind: 'time' },
  { name: 'source', value: (item) => item.source },
  { name: 'actor', value: (item) => item.actor, kind: 'text', minor: true },
  { name: 'scope', value: (item) => item.scope },
  { name: 'value', value: (item) => item.value, kind: 'url' },
  { name: 'pages', value: (item) => item.pagesRemoved, minor: true },
  { name: 'unconfirmed', value: (item) => item.unconfirmed.join(', ') || null, kind: 'text', minor: true },
]

export default class InvalidationLogRecent extends BaseCommand {
  static override summary = 'List invalidations, newest first, with their source, actor and effect.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'List what a client requested', command: '<%= config.bin %> <%= command.id %> --search erp-sync' },
    {
      description: 'Find who clears everything',
      command: `<%= config.bin %> <%= command.id %> --limit 1000 --json | jq '.items[] | select(.scope == "all")'`,
    },
  ]
  static override flags = { search: searchFlag, ...listFlags }

  async run() {
    const { flags } = await this.parse(InvalidationLogRecent)
    const empty = 'No invalidation is in the log.'
    const value = await this.performing((session) => readLog(session, recentInvalidations, flags))
    return this.show(value, (list, output) =>
      presentLog({ columns, ...list, noun: 'invalidation', empty }, output, flags),
    )
  }
}
