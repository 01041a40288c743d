import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { dryRunFlag, entityTypeArg, hardFlag, softFlag } from '#src/cli/flags.ts'
import { presentPurged } from '#src/cli/present-purges.ts'
import { purge } from '#src/operations/purge.ts'

export default class PurgeEntity extends BaseCommand {
  static override summary = 'Purge the pages of a product, category or other entity.'
  static override description =
    "Purges Shopware's cache tags of the entity, in the cache and at every reverse proxy.\
A product number passed together with an ID is remembered; later purges can use the number alone."
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Purge a category',
      command: '<%= config.bin %> <%= command.id %> category 0190c0de000070008000000000000001',
    },
    {
      description: 'Purge a product and remember its number',
      command: '<%= config.bin %> <%= command.id %> product 0190c0de-0000-7000-8000-000000000002 --number SW10001',
    },
    {
      description: 'Purge the same product by its number',
      command: '<%= config.bin %> <%= command.id %> product --number SW10001',
    },
  ]
  static override args = { type: entityTypeArg, id: Args.string({ description: 'ID, with or without dashes.' }) }
  static override flags = {
    number: Flags.string({ summary: 'Product number.', helpValue: '<number>' }),
    soft: softFlag,
    hard: hardFlag,
    'dry-run': dryRunFlag,
  }

  async run() {
    const { args, flags } = await this.parse(PurgeEntity)
    const { number, soft, hard, 'dry-run': dryRun } = flags
    const input = { entityType: args.type, entityId: args.id, entityNumber: number, soft, hard, dryRun }
    return this.perform(purge, input, (value, output) => presentPurged(value, output, soft))
  }
}
