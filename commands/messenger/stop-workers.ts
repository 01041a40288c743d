import { BaseCommand } from '#src/cli/base-command.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { plural } from '#src/lib/format.ts'
import { stopWorkers } from '#src/operations/messenger.ts'

export default class MessengerStopWorkers extends BaseCommand {
  static override summary = 'Stop all workers after their current messages.'
  static override description = `Run it after a deployment, so that the service manager restarts the workers with the new version.
Does not affect workers that start later, or those inside the daemon.`
  static override examples = [
    { description: 'Stop the workers after a deployment', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Count the stopped workers', command: '<%= config.bin %> <%= command.id %> --json | jq .workers' },
  ]
  static override flags = { ...symfonyFlags, yes: needlessYes }

  async run() {
    await this.parse(MessengerStopWorkers)
    return this.perform(stopWorkers, {}, ({ workers }, output) => {
      output.prose(`[OK] Signal successfully sent to stop any running workers (${plural(workers, 'consumer')}).`)
    })
  }
}
