import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { listStages } from '#src/operations/stages.ts'

export default class StageList extends BaseCommand {
  static override summary = 'List the popup stages, oldest first.'
  static override examples = [
    { description: 'List the first fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the IDs of active stages',
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
      output.more(items.length, total, 'stage')
    })
  }
}
