import { BaseCommand } from '#src/cli/base-command.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { listScheduledTasks } from '#src/operations/scheduled-task.ts'

export default class ScheduledTaskList extends BaseCommand {
  static override summary = 'List the scheduled tasks with their times and status.'
  static override examples = [
    { description: 'List all tasks', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Show why tasks failed',
      command:
        '<%= config.bin %> <%= command.id %> --json | jq -r \'.items[] | select(.error) | "\\(.name): \\(.error)"\'',
    },
  ]
  static override flags = { ...symfonyFlags, yes: needlessYes }

  async run() {
    await this.parse(ScheduledTaskList)
    return this.perform(listScheduledTasks, {}, async ({ items }, output) => {
      await output.table(
        ['Name', 'Next execution', 'Last execution', 'Run interval', 'Status'],
        items.map(({ name, nextExecution, lastExecution, runInterval, status }) => [
          name,
          nextExecution,
          lastExecution,
          runInterval,
          status,
        ]),
      )
      for (const { name, error } of items) if (error !== null) this.tell(`${name}: ${error}`)
    })
  }
}
