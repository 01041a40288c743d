import { warmupArgs, WarmupMoveCommand } from '#src/cli/warmup-command.ts'
import { cancelWarmup } from '#src/operations/warmup.ts'

export default class WarmupCancel extends WarmupMoveCommand {
  static override summary = 'Cancel a running or paused warmup.'
  static override description =
    'What is being fetched is given up; what was fetched stays in the cache. A cancelled warmup cannot be resumed.'
  static override examples = [
    { description: 'The latest one', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The one with this id',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = warmupArgs

  async run() {
    const { args } = await this.parse(WarmupCancel)
    return this.move(cancelWarmup, args.id)
  }
}
