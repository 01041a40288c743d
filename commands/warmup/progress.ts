import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { warmupKind } from '#src/cli/find.ts'
import { Output } from '#src/cli/output.ts'
import { noWarmup, presentProgress, warmupArgs } from '#src/cli/warmup-command.ts'
import { readWarmupProgress } from '#src/operations/warmup.ts'

export default class WarmupProgress extends BaseCommand {
  static override summary = 'Show the progress of a warmup.'
  static override examples = [
    { description: 'Show the latest warmup', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Print the percentage only',
      command: '<%= config.bin %> <%= command.id %> --json | jq .progress.percentage',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = warmupArgs

  async run() {
    const { args } = await this.parse(WarmupProgress)
    const input = args.id === undefined ? {} : { progressId: (await this.find(warmupKind, args.id)).id }
    const value = await this.performing(({ performer }) => performer.perform(readWarmupProgress, input))
    if (value.progress === null) {
      const error = noWarmup(args.id)
      if (!this.jsonEnabled()) throw error
      // With --json the value is still printed; the exit code reports the missing warmup.
      process.exitCode = error.exit
    } else if (!this.silent) {
      presentProgress(value.progress, new Output())
    }
    return value
  }
}
