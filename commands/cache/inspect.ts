import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { formatBytes } from '#src/lib/format-bytes.ts'
import { formatDuration } from '#src/lib/format.ts'
import { inspectPage } from '#src/operations/cache.ts'

export default class CacheInspect extends BaseCommand {
  static override summary = 'Explain why a URL is or is not cached.'
  static override examples = [
    {
      description: 'Inspect a page',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/',
    },
    {
      description: 'Show how long it stays fresh, in seconds',
      command: '<%= config.bin %> <%= command.id %> http://shop.example/shoes/ --json | jq ".pages[].freshnessLeft"',
    },
  ]
  static override args = {
    url: Args.string({ description: 'Absolute URL of the page.', required: true }),
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
        const { freshnessLeft } = page
        output.pairs([
          ['key', page.key],
          ['type', page.type],
          ['tags', page.tags.join(' ') || null],
          ['status', page.status],
          ['stored', page.storedAt],
          ['age', formatDuration(page.age)],
          [page.state, `${freshnessLeft < 0 ? 'for' : 'for another'} ${formatDuration(Math.abs(freshnessLeft))}`],
          ['hits', page.hits],
          ['size', `${formatBytes(page.size)} ${page.encoding}, ${formatBytes(page.originalSize)} uncompressed`],
        ])
      }
    })
  }
}
