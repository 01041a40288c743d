import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { presentTransports, presentWorkers } from '#src/cli/present-messenger.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { messengerStatistics } from '#src/operations/messenger.ts'

export default class MessengerStats extends BaseCommand {
  static override summary = 'Show the waiting messages and the running workers.'
  static override examples = [
    { description: 'Show all transports and workers', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Count the messages on one transport',
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
    const statistics = await this.performing(({ performer }) => performer.perform(messengerStatistics, {}))
    for (const name of names)
      if (!statistics.transports.some((transport) => transport.name === name))
        this.tell(`[WARNING] The "${name}" transport does not exist.`)
    const transports = statistics.transports.filter(({ name }) => names.length === 0 || names.includes(name))
    return this.show({ ...statistics, transports }, async ({ workers }, output) => {
      await presentTransports(transports, output)
      if (names.length > 0) return
      output.line()
      await presentWorkers(workers, output)
    })
  }
}
