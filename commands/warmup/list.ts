import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { listWarmups } from '#src/operations/warmup.ts'

export default class WarmupList extends BaseCommand {
  static override summary = 'List warmups, newest first.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the IDs of running warmups',
      command: `<%= config.bin %> <%= command.id %> --json | jq -r '.items[] | select(.status == "running").id'`,
    },
  ]
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(WarmupList)
    return this.perform(listWarmups, { limit: flags.limit, offset: flags.offset }, async ({ total, items }, output) => {
      const rows = items.map((run) => [
        run.id,
        run.status,
        `${run.percentage.toFixed(2)} %`,
        run.total_urls,
        run.processed_urls,
        run.failed_urls,
        run.created_at,
      ])
      await output.table(['id', 'status', 'progress', 'urls', 'cached', 'failed', 'started'], rows)
      output.more(items.length, total, 'warmup')
    })
  }
}
