import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { listStages } from '#src/operations/stages.ts'

const columns: readonly Column<EntryOf<typeof listStages>>[] = [
  { name: 'id', value: (stage) => stage.id, kind: 'id' },
  { name: 'name', value: (stage) => stage.name, kind: 'text' },
  { name: 'active', value: (stage) => (stage.active ? 'yes' : 'no') },
  { name: 'statistics', value: (stage) => (stage.statsEnabled ? 'on' : 'off'), minor: true },
  { name: 'days', value: (stage) => stage.retentionDays, minor: true },
  { name: 'frequency', value: (stage) => stage.frequency },
  { name: 'per session', value: (stage) => stage.maxPerSession, minor: true },
  { name: 'sales channel', value: (stage) => stage.salesChannelId ?? 'all', kind: 'id', minor: true },
  { name: 'from', value: (stage) => stage.from, kind: 'time', minor: true },
  { name: 'until', value: (stage) => stage.until, kind: 'time', minor: true },
]

export default class StageList extends BaseCommand {
  static override summary = 'List the popup stages, oldest first.'
  static override examples = [
    { description: 'List the first fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the IDs of active stages',
      command: `<%= config.bin %> <%= command.id %> --json | jq -r '.items[] | select(.active) | .id'`,
    },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(StageList)
    const empty = 'No popup stage exists yet. Create one with: pagecache stage:create'
    return this.perform(listStages, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentList({ columns, ...value, noun: 'stage', empty }, output, flags),
    )
  }
}
