import { BaseCommand } from '#src/cli/base-command.ts'
import { presentList, viewFlags, type Column, type EntryOf } from '#src/cli/list.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { listScheduledTasks } from '#src/operations/scheduled-task.ts'

const columns: readonly Column<EntryOf<typeof listScheduledTasks>>[] = [
  { name: 'Name', value: (task) => task.name, kind: 'url' },
  { name: 'Next execution', value: (task) => task.nextExecution, kind: 'time' },
  { name: 'Last execution', value: (task) => task.lastExecution, kind: 'time', minor: true },
  { name: 'Run interval', value: (task) => task.runInterval, kind: 'seconds', minor: true },
  { name: 'Status', value: (task) => task.status },
]

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
  static override flags = { ...symfonyFlags, yes: needlessYes, ...viewFlags }

  async run() {
    const { flags } = await this.parse(ScheduledTaskList)
    return this.perform(listScheduledTasks, {}, async ({ items }, output) => {
      await presentList({ columns, items, noun: 'task', empty: 'No task is scheduled.' }, output, flags)
      for (const { name, error } of items) if (error !== null) this.tell(`${name}: ${error}`)
    })
  }
}
