import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { entityTypeArg } from '#src/cli/entity-args.ts'
import { limitFlag, newestOffsetFlag } from '#src/cli/flags.ts'
import { presentTimeline } from '#src/cli/present-purges.ts'
import { entityTimeline } from '#src/operations/purge-log.ts'

export default class ReverseProxyEntityTimeline extends BaseCommand {
  static override summary = 'Show the newest purges of an entity, oldest first.'
  static override description = 'Purges of any tag that names the entity, whether an entity or the tag was purged.'
  static override examples = [
    {
      description: 'A category',
      command: '<%= config.bin %> <%= command.id %> category 0190c0de000070008000000000000001',
    },
    { description: 'A product by its number', command: '<%= config.bin %> <%= command.id %> product --number SW10001' },
  ]
  static override args = { type: entityTypeArg, id: Args.string({ description: 'Id, with or without dashes.' }) }
  static override flags = {
    number: Flags.string({ summary: 'Product number.', helpValue: '<number>' }),
    limit: limitFlag,
    offset: newestOffsetFlag,
  }

  async run() {
    const { args, flags } = await this.parse(ReverseProxyEntityTimeline)
    const { number, limit, offset } = flags
    const input = { entityType: args.type, entityId: args.id, entityNumber: number, limit, offset }
    return this.perform(entityTimeline, input, async (value, output) => {
      if (value.total === 0) return output.line(`No purge of this ${args.type} is in the log.`)
      return presentTimeline(value, output)
    })
  }
}
