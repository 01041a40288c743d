import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { plural } from '#src/lib/plural.ts'
import { listStages } from '#src/operations/stages.ts'

export default class StageList extends BaseCommand {
  static override summary = 'List the popup stages, the oldest first.'
  static override examples = [
    { description: 'The first fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The ids of those that are shown',
      command: `<%= config.bin %> <%= command.id %> --json | jq -r '.items[] | select(.active) | .id'`,
    },
  ]
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(StageList)
    return this.perform(listStages, { limit: flags.limit, offset: flags.offset }, async ({ total, items }, output) => {
      const rows = items.map((stage) => [
        stage.id,
        stage.name,
        stage.active ? 'yes' : 'no',
        stage.statsEnabled ? 'on' : 'off',
        stage.retentionDays,
        stage.frequency,
        stage.maxPerSession,
        stage.salesChannelId ?? 'all',
      ])
      await output.table(
        ['id', 'name', 'active', 'statistics', 'days', 'frequency', 'per session', 'sales channel'],
        rows,
      )
      if (output.terminal && items.length < total)
        output.line(`${items.length} of ${plural(total, 'stage')}. More with --limit and --offset.`)
    })
  }
}
