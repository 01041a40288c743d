import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { deactivateScheduledTask } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskDeactivate extends BaseCommand {
  static override summary = 'Let a task run no more.'
  static override description = 'What runs now is not ended. scheduled-task:schedule makes it active again.'
  static override exitCodes = exitCodes.ofOne
  static override examples = [
    {
      description: 'Keep the invalidation log for ever',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_invalidation_log',
    },
    {
      description: 'While it is queued or running too',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_pages --force',
    },
  ]
  static override args = {
    name: Args.string({ description: 'The task.', required: true }),
  }
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    force: Flags.boolean({ char: 'f', summary: 'While it is queued or running too.' }),
  }

  async run() {
    const { args, flags } = await this.parse(ScheduledTaskDeactivate)
    return this.perform(deactivateScheduledTask, { name: args.name, force: flags.force }, ({ task }, output) => {
      output.line(`[OK] Scheduled task "${task.name}" was deactivated.`)
    })
  }
}
