import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { plural } from '#src/lib/format.ts'
import { clearPurgeLog } from '#src/operations/purge-log.ts'

export default class ReverseProxyClear extends BaseCommand {
  static override summary = 'Delete the purge log.'
  static override description =
    'Purges that a reverse proxy has not acknowledged are still delivered; reverse-proxy:stats counts them.'
  static override examples = [
    { description: 'Delete it after a confirmation', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Delete it in a script', command: '<%= config.bin %> <%= command.id %> --yes' },
  ]
  static override flags = { yes: yesFlag }

  async run() {
    const { flags } = await this.parse(ReverseProxyClear)
    await this.confirm('Delete the whole purge log?', flags.yes)
    return this.perform(clearPurgeLog, {}, ({ deleted }, output) =>
      output.prose(`${plural(deleted, 'purge')} deleted.`),
    )
  }
}
