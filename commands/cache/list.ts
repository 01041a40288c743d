import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { pageTypeFlag } from '#src/cli/flags.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { formatBytes } from '#src/lib/format-bytes.ts'
import { formatDuration } from '#src/lib/format.ts'
import { listPages } from '#src/operations/cache.ts'

const columns: readonly Column<EntryOf<typeof listPages>>[] = [
  { name: 'type', value: (page) => page.type, kind: 'text' },
  { name: 'status', value: (page) => page.status, minor: true },
  { name: 'state', value: (page) => page.state },
  { name: 'age', value: (page) => page.age, show: (page) => formatDuration(page.age) },
  { name: 'hits', value: (page) => page.hits, minor: true },
  { name: 'size', value: (page) => page.size, show: (page) => formatBytes(page.size), minor: true },
  { name: 'url', value: (page) => page.url, kind: 'url' },
]

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
    ...listFlags,
  }

  async run() {
    const { flags } = await this.parse(CacheList)
    const { type, tag, prefix, limit, offset } = flags
    return this.perform(listPages, { type, tag, prefix, limit, offset }, async (value, output) => {
      const isFiltered = [type, tag, prefix].some((filter) => filter !== undefined)
      const what = isFiltered ? 'No cached page matches.' : 'No page is cached.'
      const empty = `${what} Pages are cached when they are visited, or by pagecache warmup:start.`
      await presentList({ columns, ...value, noun: 'page', empty }, output, flags)
      if (value.node !== undefined && output.terminal && !flags.csv && !flags.jsonl)
        output.line(`These are the pages of the node ${value.node}.`)
    })
  }
}
