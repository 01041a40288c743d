import { warmupArgs, WarmupMoveCommand } from '#src/cli/warmup-command.ts'
import { pauseWarmup } from '#src/operations/warmup.ts'

export default class WarmupPause extends WarmupMoveCommand {
  static override summary = 'Pause a running warmup.'
  static override description =
    'The pages that are being fetched are finished and kept; workers in other processes stop within a second.'
  static override examples = [
    { description: 'The latest one', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The one with this id',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = warmupArgs

  async run() {
    const { args } = await this.parse(WarmupPause)
    return this.move(pauseWarmup, args.id)
  }
}
