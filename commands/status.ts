import { BaseCommand } from '#src/cli/base-command.ts'
import { watchFlags } from '#src/cli/flags.ts'
import { presentStatus } from '#src/cli/present-status.ts'
import { readStatus } from '#src/operations/status.ts'

export default class Status extends BaseCommand {
  static override summary = 'Show the state of all parts on one screen.'
  static override description =
    'Daemon, configuration, cache, hit ratio, warmup, queue, reverse proxies and nodes. pagecache doctor checks them, pagecache monitor shows them live.'
  static override examples = [
    { description: 'Show the state', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Print the hit ratio of the last hour',
      command: '<%= config.bin %> <%= command.id %> --json | jq .traffic.lastHour.hitRatio',
    },
  ]
  static override flags = watchFlags

  async run() {
    const { flags } = await this.parse(Status)
    return this.repeat(flags, () => this.perform(readStatus, {}, presentStatus))
  }
}
