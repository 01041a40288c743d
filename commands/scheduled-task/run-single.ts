import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { runSingleTask } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskRunSingle extends BaseCommand {
  static override summary = 'Run one task now and wait for it to finish.'
  static override description =
    'It runs once: in this process, or in a worker that picks it up first. Exits with 1 if the task failed.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Remove expired pages',
      command: '<%= config.bin %> <%= command.id %> vendor_cache.cleanup_pages',
    },
    {
      description: 'Print what a task did',
      command: '<%= config.bin %> <%= command.id %> vendor_stage.prune_events --json | jq -r .task.result',
    },
  ]
  static override args = {
    name: Args.string({ description: 'Name of the task.', required: true }),
  }
  static override flags = { ...symfonyFlags, yes: needlessYes }

  async run() {
    const { args } = await this.parse(ScheduledTaskRunSingle)
    const value = await this.perform(runSingleTask, { name: args.name }, ({ success, task }, output) => {
      if (success) output.prose(`[OK] ${task.name}: ${task.result ?? task.status}`)
      else this.tell(`[ERROR] ${task.name} is ${task.status}${task.error === null ? '' : `: ${task.error}`}`)
    })
    if (!value.success) process.exitCode = 1
    return value
  }
}
