import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentPurges } from '#src/cli/present-purges.ts'
import { recentPurges } from '#src/operations/purge-log.ts'

export default class ReverseProxyRecent extends BaseCommand {
  static override summary = 'List purges, newest first.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'List the fifty before them', command: '<%= config.bin %> <%= command.id %> --offset 50' },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ReverseProxyRecent)
    return this.perform(recentPurges, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentPurges(value, output, flags),
    )
  }
}
