import * as Args from '@oclif/core/args'
import { stateArgs, WarmupStateCommand } from '#src/cli/warmup-command.ts'
import { toConcurrency } from '#src/cli/warmup-flags.ts'
import { changeWarmupConcurrency } from '#src/operations/warmup.ts'

export default class WarmupConcurrency extends WarmupStateCommand {
  static override summary = 'Change the concurrency of a running or paused warmup.'
  static override description = `Limits its concurrent requests to each origin. All workers apply it within a second and keep it when the warmup is paused, resumed or taken over.
A throttled origin still gets fewer. The configuration (warmup.concurrency) does not change.`
  static override examples = [
    { description: 'Slow the only running warmup down', command: '<%= config.bin %> <%= command.id %> 2' },
    {
      description: 'Change a warmup by its ID',
      command: '<%= config.bin %> <%= command.id %> 16 0190c0de-0000-7000-8000-000000000001',
    },
    { description: 'Return to the configured concurrency', command: '<%= config.bin %> <%= command.id %> default' },
  ]
  static override args = {
    concurrency: Args.string({ description: 'Concurrent requests per origin, or default.', required: true }),
    ...stateArgs,
  }

  async run() {
    const { args } = await this.parse(WarmupConcurrency)
    const concurrency = toConcurrency(args.concurrency)
    return this.changeState(changeWarmupConcurrency, args.id, ['running', 'paused'], { concurrency })
  }
}
