import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { plural } from '#src/lib/plural.ts'
import { listWarmups } from '#src/operations/warmup.ts'

export default class WarmupList extends BaseCommand {
  static override summary = 'List the warmups, the latest first.'
  static override examples = [
    { description: 'The last fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The ids of those that are running',
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
      await output.table(['id', 'state', 'done', 'urls', 'warm', 'failed', 'started'], rows)
      if (output.terminal && items.length < total)
        output.line(`${items.length} of ${plural(total, 'warmup')}. More with --limit and --offset.`)
    })
  }
}
