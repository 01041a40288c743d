import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, newestOffsetFlag } from '#src/cli/flags.ts'
import { presentTimeline } from '#src/cli/present-purges.ts'
import { urlFlow } from '#src/operations/purge-log.ts'

export default class ReverseProxyUrlFlow extends BaseCommand {
  static override summary = 'Show the newest purges that took the page of a URL, oldest first.'
  static override description = 'By whatever way it went: by its URL, a tag, an entity, its type, or with everything.'
  static override examples = [
    {
      description: 'Why did a page vanish?',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/',
    },
    {
      description: 'The fifty purges before the newest fifty',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --offset 50',
    },
  ]
  static override args = { url: Args.string({ description: 'URL as visitors type it.', required: true }) }
  static override flags = { limit: limitFlag, offset: newestOffsetFlag }

  async run() {
    const { args, flags } = await this.parse(ReverseProxyUrlFlow)
    return this.perform(urlFlow, { url: args.url, limit: flags.limit, offset: flags.offset }, async (value, output) => {
      if (value.total === 0) return output.line(`No purge of ${value.url} is in the log.`)
      return presentTimeline(value, output)
    })
  }
}
