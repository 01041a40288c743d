import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { warmupKind } from '#src/cli/find.ts'
import { noTuiFlag } from '#src/cli/flags.ts'
import { warmupArgs } from '#src/cli/warmup-command.ts'

export default class WarmupWatch extends BaseCommand {
  static override summary = 'Watch a warmup live, and pause, resume or cancel it.'
  static override description = `On a terminal, shows progress, rate, latency, results, worker slots and failures; press ? for the keys and q to leave.
The warmup continues after you leave. Without a terminal, in CI, with --no-tui and with --json, prints a line on stderr every 5 % or 10 s until the warmup has ended.`
  static override examples = [
    { description: 'Watch the latest warmup', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Wait for the latest warmup in a script',
      command: '<%= config.bin %> <%= command.id %> --json | jq .progress.status',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = warmupArgs
  static override flags = { 'no-tui': noTuiFlag }

  async run() {
    const { args, flags } = await this.parse(WarmupWatch)
    const id = args.id === undefined ? null : (await this.find(warmupKind, args.id)).id
    const { watchWarmup } = await import('#src/cli/watch-warmup.ts')
    return this.performing((session) => watchWarmup(session, id, { tui: !flags['no-tui'] }))
  }
}
