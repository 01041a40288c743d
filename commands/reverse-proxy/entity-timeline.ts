import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { entityTypeArg, newestOffsetFlag } from '#src/cli/flags.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentTimeline } from '#src/cli/present-purges.ts'
import { entityTimeline } from '#src/operations/purge-log.ts'

export default class ReverseProxyEntityTimeline extends BaseCommand {
  static override summary = 'Show the latest purges of an entity, oldest first.'
  static override description = 'Includes purges of the entity itself and of any cache tag that names it.'
  static override examples = [
    {
      description: 'Show the purges of a category',
      command: '<%= config.bin %> <%= command.id %> category 0190c0de000070008000000000000001',
    },
    {
      description: 'Show the purges of a product by its number',
      command: '<%= config.bin %> <%= command.id %> product --number SW10001',
    },
  ]
  static override args = { type: entityTypeArg, id: Args.string({ description: 'ID, with or without dashes.' }) }
  static override flags = {
    number: Flags.string({ summary: 'Product number.', helpValue: '<number>' }),
    ...listFlags,
    offset: newestOffsetFlag,
  }

  async run() {
    const { args, flags } = await this.parse(ReverseProxyEntityTimeline)
    const { number, limit, offset } = flags
    const input = { entityType: args.type, entityId: args.id, entityNumber: number, limit, offset }
    return this.perform(entityTimeline, input, async (value, output) => {
      if (value.total === 0) return output.prose(`The log has no purge of this ${args.type}.`)
      return presentTimeline(value, output, flags)
    })
  }
}
