import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { plural } from '#src/lib/format.ts'
import { clearInvalidationLog } from '#src/operations/purge-log.ts'

export default class InvalidationLogClear extends BaseCommand {
  static override summary = 'Delete the invalidation log.'
  static override examples = [
    { description: 'Delete it after a confirmation', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Delete it in a script', command: '<%= config.bin %> <%= command.id %> --yes' },
  ]
  static override flags = { yes: yesFlag }

  async run() {
    const { flags } = await this.parse(InvalidationLogClear)
    await this.confirm('Delete the whole invalidation log?', flags.yes)
    return this.perform(clearInvalidationLog, {}, ({ deleted }, output) =>
      output.prose(`${plural(deleted, 'invalidation')} deleted.`),
    )
  }
}
