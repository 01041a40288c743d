import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag, hardFlag, softFlag } from '#src/cli/flags.ts'
import { presentPurged } from '#src/cli/present-purges.ts'
import { purge } from '#src/operations/purge.ts'

export default class PurgeTag extends BaseCommand {
  static override summary = 'Purge every page with a cache tag, here and at every reverse proxy.'
  static override examples = [
    { description: 'Purge all pages with a navigation', command: '<%= config.bin %> <%= command.id %> navigation' },
    {
      description: 'List the pages that show a product',
      command: '<%= config.bin %> <%= command.id %> --dry-run product-0190c0de000070008000000000000001',
    },
  ]
  static override strict = false
  static override args = {
    tags: Args.string({
      description: 'Cache tags set by the shop.',
      required: true,
      multiple: true,
    }),
  }
  static override flags = { soft: softFlag, hard: hardFlag, 'dry-run': dryRunFlag }

  async run() {
    const { argv, flags } = await this.parse(PurgeTag)
    const { soft, hard, 'dry-run': dryRun } = flags
    return this.perform(purge, { tags: argv as string[], soft, hard, dryRun }, (value, output) =>
      presentPurged(value, output, soft),
    )
  }
}
