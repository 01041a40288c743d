import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag, softFlag } from '#src/cli/flags.ts'
import { presentPurged } from '#src/cli/present-purges.ts'
import { purge } from '#src/operations/purge.ts'

export default class PurgeUrl extends BaseCommand {
  static override summary = 'Purge URLs, here and at every reverse proxy.'
  static override description = 'Purges every variant of the page. The order of query parameters does not matter.'
  static override examples = [
    { description: 'Purge one page', command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/' },
    {
      description: 'Mark two pages as stale; visitors get them while they are refetched',
      command: '<%= config.bin %> <%= command.id %> --soft http://shop.example/ http://shop.example/shoes/',
    },
    {
      description: 'List what would be purged',
      command: '<%= config.bin %> <%= command.id %> --dry-run http://shop.example/shoes/',
    },
  ]
  static override strict = false
  static override args = {
    urls: Args.string({ description: 'Public URLs of the pages.', required: true, multiple: true }),
  }
  static override flags = { soft: softFlag, 'dry-run': dryRunFlag }

  async run() {
    const { argv, flags } = await this.parse(PurgeUrl)
    const { soft, 'dry-run': dryRun } = flags
    return this.perform(purge, { urls: argv as string[], soft, dryRun }, (value, output) =>
      presentPurged(value, output, soft),
    )
  }
}
