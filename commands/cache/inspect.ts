import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { presentInspection } from '#src/cli/present-inspection.ts'
import { inspectPage } from '#src/operations/inspect.ts'

export default class CacheInspect extends BaseCommand {
  static override summary = 'Explain why a page is or is not cached, what removed it last, and what to do.'
  static override examples = [
    { description: 'Inspect a page', command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/' },
    {
      description: 'Inspect a page by its path, with response headers',
      command: '<%= config.bin %> <%= command.id %> /shoes/ --headers',
    },
    {
      description: 'Show how long it stays fresh, in seconds',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --json | jq ".pages[].freshnessLeft"',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    url: Args.string({ description: 'URL of the page, or a path of a sales channel.', required: true }),
  }
  static override flags = {
    headers: Flags.boolean({ summary: 'Show the response headers too.' }),
    'sales-channel': Flags.string({ summary: 'Sales channel of the path.', helpValue: '<id>' }),
  }
  static override fieldNames = { salesChannelId: '--sales-channel' }

  async run() {
    const { args, flags } = await this.parse(CacheInspect)
    const { headers, 'sales-channel': salesChannelId } = flags
    return this.perform(inspectPage, { url: args.url, headers, salesChannelId }, presentInspection)
  }
}
