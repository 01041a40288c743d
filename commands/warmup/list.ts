import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { listWarmups, warmupStatuses } from '#src/operations/warmup.ts'

const columns: readonly Column<EntryOf<typeof listWarmups>>[] = [
  { name: 'id', value: (run) => run.id, kind: 'id' },
  { name: 'status', value: (run) => run.status },
  { name: 'progress', value: (run) => run.percentage, show: (run) => `${run.percentage.toFixed(2)} %` },
  { name: 'urls', value: (run) => run.total_urls, minor: true },
  { name: 'cached', value: (run) => run.processed_urls, minor: true },
  { name: 'failed', value: (run) => run.failed_urls },
  { name: 'concurrency', value: (run) => run.concurrency, minor: true },
  { name: 'started', value: (run) => run.created_at, kind: 'time' },
]

export default class WarmupList extends BaseCommand {
  static override summary = 'List warmups, newest first.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the IDs of running warmups',
      command: `<%= config.bin %> <%= command.id %> --json | jq -r '.items[] | select(.status == "running").id'`,
    },
  ]
  static override flags = {
    status: Flags.option({ options: warmupStatuses, summary: 'Only warmups in this state.' })(),
    ...listFlags,
  }

  async run() {
    const { flags } = await this.parse(WarmupList)
    const none = 'No warmup has run yet. Start one with: pagecache warmup:start'
    const { status, limit, offset } = flags
    return this.perform(listWarmups, { status, limit, offset }, (value, output) =>
      presentList(
        { columns, ...value, noun: 'warmup', empty: status === undefined ? none : `No warmup is ${status}.` },
        output,
        flags,
      ),
    )
  }
}
