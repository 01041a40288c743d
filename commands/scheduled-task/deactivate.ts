import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { deactivateScheduledTask } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskDeactivate extends BaseCommand {
  static override summary = 'Deactivate a task.'
  static override description = 'A run in progress is not stopped. scheduled-task:schedule activates the task again.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Keep the invalidation log indefinitely',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_invalidation_log',
    },
    {
      description: 'Deactivate a task that is queued or running',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_pages --force',
    },
  ]
  static override args = {
    name: Args.string({ description: 'Name of the task.', required: true }),
  }
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    force: Flags.boolean({ char: 'f', summary: 'Also deactivate a task that is queued or running.' }),
  }

  async run() {
    const { args, flags } = await this.parse(ScheduledTaskDeactivate)
    return this.perform(deactivateScheduledTask, { name: args.name, force: flags.force }, ({ task }, output) => {
      output.prose(`[OK] Scheduled task "${task.name}" was deactivated.`)
    })
  }
}
