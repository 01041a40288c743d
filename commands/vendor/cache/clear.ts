import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag, pageTypeFlag } from '#src/cli/flags.ts'
import { presentCleared } from '#src/cli/present-cleared.ts'
import { needlessYes, symfonyFlags, warmerFlags } from '#src/cli/symfony-flags.ts'
import { clearPages, clearPagesByType } from '#src/operations/cache.ts'

export default class VendorCacheClear extends BaseCommand {
  static override summary = 'Clear all cached pages, or all pages of a type.'
  static override description = 'Once it has finished, no process serves a page that was cached before.'
  static override examples = [
    {
      description: 'Clear all pages as the last step of a deployment',
      command: '<%= config.bin %> <%= command.id %> --env prod',
    },
    { description: 'Clear only product pages', command: '<%= config.bin %> <%= command.id %> --type products' },
    { description: 'List what would be removed', command: '<%= config.bin %> <%= command.id %> --dry-run' },
  ]
  static override flags = {
    ...symfonyFlags,
    ...warmerFlags,
    yes: needlessYes,
    type: pageTypeFlag(),
    'dry-run': dryRunFlag,
  }

  async run() {
    const { flags } = await this.parse(VendorCacheClear)
    const dryRun = flags['dry-run']
    if (flags.type === undefined) return this.perform(clearPages, { dryRun }, presentCleared)
    return this.perform(clearPagesByType, { type: flags.type, dryRun }, presentCleared)
  }
}
