import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag, pageTypeFlag } from '#src/cli/flags.ts'
import { presentCleared } from '#src/cli/present-cleared.ts'
import { needlessYes, symfonyFlags, warmerFlags } from '#src/cli/symfony-flags.ts'
import { clearPages, clearPagesByType } from '#src/operations/cache.ts'

export default class VendorCacheClear extends BaseCommand {
  static override summary = 'Clear every cached page, or every page of a type.'
  static override description =
    'Prints the number of files removed. No process serves a page from before, once this has ended.'
  static override examples = [
    {
      description: 'Clear everything, as the last step of a deployment',
      command: '<%= config.bin %> <%= command.id %> --env prod',
    },
    { description: 'Clear the product pages alone', command: '<%= config.bin %> <%= command.id %> --type products' },
    { description: 'See what would go', command: '<%= config.bin %> <%= command.id %> --dry-run' },
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
