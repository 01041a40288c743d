import { BaseCommand } from '#src/cli/base-command.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { plural } from '#src/lib/plural.ts'
import { stopWorkers } from '#src/operations/messenger.ts'

export default class MessengerStopWorkers extends BaseCommand {
  static override summary = 'Ask all consumers to finish what is in hand and leave.'
  static override description = `For deployments: a service manager starts them again, with the new version. Consumers that start later are not meant, and the
workers inside the daemon stay: they end with it.`
  static override examples = [
    { description: 'After a new version was put in place', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'How many were asked', command: '<%= config.bin %> <%= command.id %> --json | jq .workers' },
  ]
  static override flags = { ...symfonyFlags, yes: needlessYes }

  async run() {
    await this.parse(MessengerStopWorkers)
    return this.perform(stopWorkers, {}, ({ workers }, output) => {
      output.line(`[OK] Signal successfully sent to stop any running workers (${plural(workers, 'consumer')}).`)
    })
  }
}
