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
    return this.perform(messengerStatistics, {}, async ({ transports, workers }, output) => {
      for (const name of names)
        if (!transports.some((transport) => transport.name === name))
          this.tell(`[WARNING] The "${name}" transport does not exist.`)
      if (names.length > 0)
        return presentTransports(
          transports.filter(({ name }) => names.includes(name)),
          output,
        )
      await presentTransports(transports, output)
      output.line()
      await presentWorkers(workers, output)
    })
  }
}
