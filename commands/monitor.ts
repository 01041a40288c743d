import { BaseCommand } from '#src/cli/base-command.ts'
import { noTuiFlag } from '#src/cli/flags.ts'

export default class Monitor extends BaseCommand {
  static override summary = 'Watch the whole system live: visitors, cache, warmup, purges, queue, tasks.'
  static override description = `On a terminal, shows a tab for each part; press ? for the keys and q to leave.
Without a terminal, in CI and with --no-tui, prints a line every 10 s or every 5 % of a warmup until interrupted.
With --json, prints the state of all parts once.`
  static override examples = [
    { description: 'Open the terminal UI', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Count the failed messages',
      command: '<%= config.bin %> <%= command.id %> --json | jq .queue.failed',
    },
  ]
  static override flags = { 'no-tui': noTuiFlag }

  async run() {
    const { flags } = await this.parse(Monitor)
    const { monitor } = await import('#src/cli/monitor.ts')
    return this.performing((session) => monitor(session, { tui: !flags['no-tui'] }))
  }
}
