import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag, pageTypeFlag } from '#src/cli/flags.ts'
import { formatBytes } from '#src/lib/format-bytes.ts'
import { formatDuration } from '#src/lib/format.ts'
import { listPages } from '#src/operations/cache.ts'

export default class CacheList extends BaseCommand {
  static override summary = 'List cached pages, by type, tag or URL prefix.'
  static override examples = [
    { description: 'List the first fifty pages', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the listing pages below a path',
      command: '<%= config.bin %> <%= command.id %> --type listings --prefix http://shop.example/shoes/',
    },
    {
      description: 'List the URLs of all pages with a tag',
      command: '<%= config.bin %> <%= command.id %> --tag product-0190c0de --limit 1000 --json | jq -r ".items[].url"',
    },
  ]
  static override flags = {
    type: pageTypeFlag(),
    tag: Flags.string({ summary: 'Only pages with this cache tag.', helpValue: '<tag>' }),
    prefix: Flags.string({ summary: 'Only pages whose URL starts with this.', helpValue: '<url>' }),
    limit: limitFlag,
    offset: offsetFlag,
  }

  async run() {
    const { flags } = await this.parse(CacheList)
    const { type, tag, prefix, limit, offset } = flags
    return this.perform(listPages, { type, tag, prefix, limit, offset }, async (value, output) => {
      const rows = value.items.map((page) => [
        page.type,
        page.status,
        page.state,
        formatDuration(page.age),
        page.hits,
        formatBytes(page.size),
        page.url,
      ])
      await output.table(['type', 'status', 'state', 'age', 'hits', 'size', 'url'], rows)
      output.more(value.items.length, value.total, 'page')
    })
  }
}
