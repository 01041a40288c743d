import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentPurges } from '#src/cli/present-purges.ts'
import { readLog, searchFlag } from '#src/cli/search-log.ts'
import { recentPurges } from '#src/operations/purge-log.ts'

export default class ReverseProxyRecent extends BaseCommand {
  static override summary = 'List purges, newest first.'
  static override description =
    'With --search, finds purges by URL, tag, page type, source and actor; a search through millions of purges takes a while.'
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'List the fifty before them', command: '<%= config.bin %> <%= command.id %> --offset 50' },
    {
      description: 'Find what one client purged',
      command: '<%= config.bin %> <%= command.id %> --search "erp-sync /shoes"',
    },
  ]
  static override flags = { search: searchFlag, ...listFlags }

  async run() {
    const { flags } = await this.parse(ReverseProxyRecent)
    const value = await this.performing((session) => readLog(session, recentPurges, flags))
    return this.show(value, (list, output) => presentPurges(list, output, flags))
  }
}
