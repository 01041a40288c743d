import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag } from '#src/cli/flags.ts'
import { presentFiles } from '#src/cli/present-cleared.ts'
import { presentDeliveries } from '#src/cli/present-purges.ts'
import { needlessYes, symfonyFlags, warmerFlags } from '#src/cli/symfony-flags.ts'
import { plural } from '#src/lib/format.ts'
import { clearApplicationCache } from '#src/operations/cache.ts'

export default class CacheClear extends BaseCommand {
  static override summary = 'Clear the application cache, including every cached page.'
  static override description =
    'Empties var/cache/<env>/ in the project directory. Keeps var/data/: logs, queue, API clients.'
  static override examples = [
    { description: 'Clear the application cache', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Count the files that would be removed in the staging environment',
      command: '<%= config.bin %> <%= command.id %> --env staging --dry-run',
    },
  ]
  static override flags = { ...symfonyFlags, ...warmerFlags, yes: needlessYes, 'dry-run': dryRunFlag }

  async run() {
    const { flags } = await this.parse(CacheClear)
    return this.perform(clearApplicationCache, { dryRun: flags['dry-run'] }, (value, output) => {
      if (value.dryRun)
        output.prose(`${plural(value.wouldDelete ?? 0, 'file')} would be removed from ${value.directory}.`)
      else presentFiles(value, output)
      presentDeliveries(value.proxies, output, { dry: value.dryRun === true })
    })
  }
}
