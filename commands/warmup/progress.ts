import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { Output } from '#src/cli/output.ts'
import { noWarmup, presentProgress, warmupArgs } from '#src/cli/warmup-command.ts'
import { readWarmupProgress } from '#src/operations/warmup.ts'

export default class WarmupProgress extends BaseCommand {
  static override summary = 'Show how far a warmup is.'
  static override examples = [
    { description: 'The latest one', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Only the percentage',
      command: '<%= config.bin %> <%= command.id %> --json | jq .progress.percentage',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = warmupArgs

  async run() {
    const { args } = await this.parse(WarmupProgress)
    const input = args.id === undefined ? {} : { progressId: args.id }
    const value = await this.performing((performer) => performer.perform(readWarmupProgress, input))
    if (value.progress === null) {
      const fault = noWarmup(args.id)
      if (!this.jsonEnabled()) throw fault
      // The value is printed as it is: only the exit code says that there is nothing.
      process.exitCode = fault.exit
    } else if (!this.jsonEnabled()) {
      presentProgress(value.progress, new Output())
    }
    return value
  }
}
