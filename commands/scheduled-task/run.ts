import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { toPositive } from '#src/cli/positive.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { queueDueTasks, runScheduledTasks } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskRun extends BaseCommand {
  static override summary = 'Queue the tasks that are due, again and again.'
  static override description = `Workers of the scheduler transport run them: serve, or messenger:consume scheduler. Both queue what is due by themselves, so
that this command is for those who run the two apart. It ends as messenger:consume does.
On a daemon (--server) it queues once, with --no-wait; a daemon does so by itself.`
  static override examples = [
    { description: 'Until it is stopped', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Once, from a cron job', command: '<%= config.bin %> <%= command.id %> --no-wait' },
  ]
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    'no-wait': Flags.boolean({ summary: 'Queue what is due now, and end.' }),
    'time-limit': Flags.string({ char: 't', summary: 'End after so many seconds.', helpValue: '<seconds>' }),
    'memory-limit': Flags.string({
      char: 'm',
      summary: 'End when the process takes more memory than this.',
      helpValue: '<size>',
    }),
  }

  async run() {
    const { flags } = await this.parse(ScheduledTaskRun)
    const input = {
      timeLimit: toPositive('time-limit', flags['time-limit']),
      memoryLimit: flags['memory-limit'],
    }
    if (flags['no-wait'])
      return this.perform(queueDueTasks, {}, (_, output) => output.line('[OK] Scheduled tasks have been queued.'))
    return this.perform(runScheduledTasks, input, ({ end }, output) =>
      output.line(`[OK] No more tasks are queued by this process (${end}).`),
    )
  }
}
