import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { newestOffsetFlag } from '#src/cli/flags.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentTimeline } from '#src/cli/present-purges.ts'
import { urlFlow } from '#src/operations/purge-log.ts'

export default class ReverseProxyUrlFlow extends BaseCommand {
  static override summary = 'Show the latest purges that removed a page, oldest first.'
  static override description = 'Includes purges by URL, tag, entity and type, and full clears.'
  static override examples = [
    {
      description: 'Find out why a page was removed',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/',
    },
    {
      description: 'Show the fifty purges before the latest fifty',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --offset 50',
    },
  ]
  static override args = { url: Args.string({ description: 'Public URL of the page.', required: true }) }
  static override flags = { ...listFlags, offset: newestOffsetFlag }

  async run() {
    const { args, flags } = await this.parse(ReverseProxyUrlFlow)
    return this.perform(urlFlow, { url: args.url, limit: flags.limit, offset: flags.offset }, async (value, output) => {
      if (value.total === 0) return output.prose(`The log has no purge of ${value.url}.`)
      return presentTimeline(value, output, flags)
    })
  }
}
