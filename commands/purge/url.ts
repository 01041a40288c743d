import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { dryRunFlag, softFlag } from '#src/cli/flags.ts'
import { presentPurged } from '#src/cli/present-purges.ts'
import { purge } from '#src/operations/purge.ts'

export default class PurgeUrl extends BaseCommand {
  static override summary = 'Purge URLs, here and at every reverse proxy.'
  static override description =
    'Every variant of the page goes. A URL is meant in its canonical form: the order of its parameters does not matter.'
  static override examples = [
    { description: 'One page', command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/' },
    {
      description: 'Two pages, which visitors may still get while they are fetched anew',
      command: '<%= config.bin %> <%= command.id %> --soft http://shop.example/ http://shop.example/shoes/',
    },
    {
      description: 'See what would go',
      command: '<%= config.bin %> <%= command.id %> --dry-run http://shop.example/shoes/',
    },
  ]
  static override strict = false
  static override args = {
    urls: Args.string({ description: 'URLs as visitors type them.', required: true, multiple: true }),
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
