import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { scheduleTaskOnce } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskSchedule extends BaseCommand {
  static override summary = 'Schedule a task, and activate it if needed.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Schedule a task for its next regular time',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_pages',
    },
    {
      description: 'Queue a task now',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_pages --immediately',
    },
  ]
  static override args = {
    name: Args.string({ description: 'Name of the task.', required: true }),
  }
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    immediately: Flags.boolean({ char: 'i', summary: 'Queue it now.' }),
    force: Flags.boolean({ char: 'f', summary: 'Also reschedule a task that is queued or running.' }),
  }

  async run() {
    const { args, flags } = await this.parse(ScheduledTaskSchedule)
    return this.perform(
      scheduleTaskOnce,
      { name: args.name, immediately: flags.immediately, force: flags.force },
      ({ task }, output) => {
        output.prose(
          `[OK] Scheduled task "${task.name}" was ${task.status === 'queued' ? 'queued' : `scheduled for ${task.nextExecution}`}.`,
        )
      },
    )
  }
}
