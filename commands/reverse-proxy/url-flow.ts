import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { presentPurges } from '#src/cli/present-purges.ts'
import { urlFlow } from '#src/operations/purge-log.ts'

export default class ReverseProxyUrlFlow extends BaseCommand {
  static override summary = 'Show every purge that took the page of a URL, oldest first.'
  static override description = 'By whatever way it went: by its URL, a tag, an entity, its type, or with everything.'
  static override examples = [
    { description: 'Why did a page vanish?', command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/' },
    { description: 'Beyond the first fifty purges', command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --offset 50' },
  ]
  static override args = { url: Args.string({ description: 'URL as visitors type it.', required: true }) }
  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { args, flags } = await this.parse(ReverseProxyUrlFlow)
    return this.perform(urlFlow, { url: args.url, limit: flags.limit, offset: flags.offset }, async ({ url, items }, output) => {
      if (items.length === 0) return output.line(`No purge of ${url} is in the log.`)
      return presentPurges(items, output)
    })
  }
}
