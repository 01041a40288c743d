import { stateArgs, WarmupStateCommand } from '#src/cli/warmup-command.ts'
import { pauseWarmup } from '#src/operations/warmup.ts'

export default class WarmupPause extends WarmupStateCommand {
  static override summary = 'Pause a running warmup.'
  static override description = 'Finishes the fetches in progress. Workers in other processes pause within a second.'
  static override examples = [
    { description: 'Pause the only one that is running', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Pause a warmup by its ID',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = stateArgs

  async run() {
    const { args } = await this.parse(WarmupPause)
    return this.changeState(pauseWarmup, args.id, ['running'])
  }
}
