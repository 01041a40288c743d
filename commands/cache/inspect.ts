import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { formatBytes } from '#src/lib/format-bytes.ts'
import { formatDuration } from '#src/lib/format-duration.ts'
import { inspectPage } from '#src/operations/cache.ts'

export default class CacheInspect extends BaseCommand {
  static override summary = 'Explain why a URL is or is not served from the cache.'
  static override examples = [
    {
      description: 'A page as its visitors type it',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/',
    },
    {
      description: 'How long it stays fresh, in seconds',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --json | jq ".pages[].freshnessLeft"',
    },
  ]
  static override args = {
    url: Args.string({ description: 'The URL, with scheme and host.', required: true }),
  }

  async run() {
    const { args } = await this.parse(CacheInspect)
    return this.perform(inspectPage, { url: args.url }, (value, output) => {
      output.pairs([
        ['url', value.url],
        ['cached', value.cached ? 'yes' : 'no'],
        ['reason', value.reason],
      ])
      output.line()
      for (const sentence of value.explanation) output.line(sentence)
      for (const page of value.pages) {
        output.line()
        const left = page.freshnessLeft
        output.pairs([
          ['key', page.key],
          ['type', page.type],
          ['tags', page.tags.join(' ') || null],
          ['status', page.status],
          ['stored', page.storedAt],
          ['age', formatDuration(page.age)],
          [page.state, `${left < 0 ? 'since' : 'for another'} ${formatDuration(Math.abs(left))}`],
          ['hits', page.hits],
          ['size', `${formatBytes(page.size)} ${page.encoding}, ${formatBytes(page.originalSize)} uncompressed`],
        ])
      }
    })
  }
}
