import { stateArgs, WarmupStateCommand } from '#src/cli/warmup-command.ts'
import { cancelWarmup } from '#src/operations/warmup.ts'

export default class WarmupCancel extends WarmupStateCommand {
  static override summary = 'Cancel a running or paused warmup.'
  static override description =
    'Aborts fetches in progress and keeps the pages that are already cached. A cancelled warmup cannot be resumed.'
  static override examples = [
    { description: 'Cancel the only one that is running or paused', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Cancel a warmup by its ID',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = stateArgs

  async run() {
    const { args } = await this.parse(WarmupCancel)
    return this.changeState(cancelWarmup, args.id, ['running', 'paused'])
  }
}
