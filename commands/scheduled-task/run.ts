import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlags, toPositive } from '#src/cli/worker-flags.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { queueDueTasks, runScheduledTasks } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskRun extends BaseCommand {
  static override summary = 'Queue tasks whenever they are due.'
  static override description = `Workers of the scheduler transport run the tasks. The daemon and messenger:consume scheduler queue due tasks themselves, so this command is only needed to run scheduler and workers separately. It stops as messenger:consume does.
With --server, it needs --no-wait and queues the due tasks once.`
  static override examples = [
    { description: 'Queue due tasks until stopped', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Queue due tasks once, from a cron job', command: '<%= config.bin %> <%= command.id %> --no-wait' },
  ]
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    'no-wait': Flags.boolean({ summary: 'Queue the due tasks once and exit.' }),
    ...limitFlags,
  }

  async run() {
    const { flags } = await this.parse(ScheduledTaskRun)
    const input = {
      timeLimit: toPositive('time-limit', flags['time-limit']),
      memoryLimit: flags['memory-limit'],
    }
    if (flags['no-wait'])
      return this.perform(queueDueTasks, {}, (_, output) => output.prose('[OK] Scheduled tasks have been queued.'))
    return this.perform(runScheduledTasks, input, ({ end }, output) =>
      output.prose(`[OK] This process has stopped queueing tasks (${end}).`),
    )
  }
}
