import { stateArgs, WarmupStateCommand } from '#src/cli/warmup-command.ts'
import { resumeWarmup } from '#src/operations/warmup.ts'

export default class WarmupResume extends WarmupStateCommand {
  static override summary = 'Resume a paused warmup.'
  static override description = 'Fetches the remaining pages only.'
  static override examples = [
    { description: 'Resume the only one that is paused', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Resume a warmup by its ID',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = stateArgs

  async run() {
    const { args } = await this.parse(WarmupResume)
    return this.changeState(resumeWarmup, args.id, ['paused'])
  }
}
