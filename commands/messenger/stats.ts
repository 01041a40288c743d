import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { formatDuration } from '#src/lib/format-duration.ts'
import { messengerStatistics } from '#src/operations/messenger.ts'

export default class MessengerStats extends BaseCommand {
  static override summary = 'Show how many messages wait, and who works on them.'
  static override examples = [
    { description: 'All transports and all workers', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'How many messages wait on one transport, for a script',
      command: '<%= config.bin %> <%= command.id %> --json | jq \'.transports[] | select(.name == "async") | .count\'',
    },
  ]
  static override strict = false
  static override args = {
    transports: Args.string({ description: 'Only these transports: async, scheduler, failed.', multiple: true }),
  }
  static override flags = { ...symfonyFlags, yes: needlessYes }

  async run() {
    const { argv } = await this.parse(MessengerStats)
    const names = argv as string[]
    return this.perform(messengerStatistics, {}, async ({ transports, workers }, output) => {
      for (const name of names)
        if (!transports.some((one) => one.name === name)) this.tell(`[WARNING] The "${name}" transport does not exist.`)
      const shown = names.length === 0 ? transports : transports.filter(({ name }) => names.includes(name))
      const rows = shown.map(({ name, count, waiting, delayed, held, oldestAge }) => [
        name,
        count,
        waiting,
        delayed,
        held,
        oldestAge === null ? null : formatDuration(oldestAge),
      ])
      await output.table(['Transport', 'Count', 'Waiting', 'Delayed', 'In hand', 'Oldest'], rows)
      if (names.length > 0) return
      output.line()
      if (workers.length === 0)
        return output.line('No worker runs. Start one with messenger:consume, or serve without --no-workers.')
      await output.table(
        ['Worker', 'Process', 'Transports', 'Since', 'Works on'],
        workers.map((worker) => [
          worker.kind,
          `${worker.host} ${worker.pid}`,
          worker.transports.join(', '),
          worker.startedAt,
          worker.current.length === 0
            ? worker.stopping
              ? 'leaving'
              : null
            : worker.current.map(({ type, group }) => (group === null ? type : `${type} ${group}`)).join(', '),
        ]),
      )
    })
  }
}
