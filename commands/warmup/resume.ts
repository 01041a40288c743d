import { warmupArgs, WarmupMoveCommand } from '#src/cli/warmup-command.ts'
import { resumeWarmup } from '#src/operations/warmup.ts'

export default class WarmupResume extends WarmupMoveCommand {
  static override summary = 'Go on with a paused warmup.'
  static override description = 'It goes on where it was: no page that is done is asked for again.'
  static override examples = [
    { description: 'The latest one', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The one with this id',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000001',
    },
  ]
  static override args = warmupArgs

  async run() {
    const { args } = await this.parse(WarmupResume)
    return this.move(resumeWarmup, args.id)
  }
}
