import { BaseCommand } from '#src/cli/base-command.ts'
import { presentList, type Column } from '#src/cli/list.ts'
import { presentHours } from '#src/cli/present-purges.ts'
import { formatMs } from '#src/lib/format.ts'
import { purgeStatistics, type PurgeStatistics } from '#src/operations/purge-log.ts'

const tagColumns: readonly Column<PurgeStatistics['topTags'][number]>[] = [
  { name: 'tag', value: ({ tag }) => tag, kind: 'text' },
  { name: 'purges', value: ({ count }) => count },
]

const proxyColumns: readonly Column<PurgeStatistics['proxies'][number]>[] = [
  { name: 'proxy', value: (proxy) => proxy.name },
  { name: 'state', value: (proxy) => proxy.state },
  { name: 'pending', value: (proxy) => proxy.pending },
  { name: 'oldest pending', value: (proxy) => proxy.oldestPending, kind: 'time', minor: true },
  { name: 'failed', value: (proxy) => proxy.failed },
  { name: 'last error at', value: (proxy) => proxy.lastErrorAt, kind: 'time', minor: true },
  { name: 'last error', value: (proxy) => proxy.lastError, kind: 'text', minor: true },
]

export default class ReverseProxyStats extends BaseCommand {
  static override summary = 'Show the purges of the last 24 hours and the state of each reverse proxy.'
  static override examples = [
    { description: 'Show totals, hours and the most purged tags', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Show the unacknowledged purges of each proxy',
      command: '<%= config.bin %> <%= command.id %> --json | jq ".proxies"',
    },
  ]

  async run() {
    await this.parse(ReverseProxyStats)
    return this.perform(purgeStatistics, {}, async ({ overview, hourly, topTags, proxies }, output) => {
      output.pairs([
        ['Purges', overview.totalPurges],
        ['URLs', overview.distinctUrls],
        ['Tags', overview.distinctTags],
        ['Response time', overview.avgResponseTime === 0 ? null : formatMs(overview.avgResponseTime)],
      ])
      await presentHours(hourly, output)
      if (topTags.length > 0 || !output.terminal) {
        await presentList({ columns: tagColumns, items: topTags, noun: 'tag', empty: '' }, output, null)
        if (proxies.length > 0) output.line()
      }
      if (proxies.length > 0)
        await presentList({ columns: proxyColumns, items: proxies, noun: 'proxy', empty: '' }, output, null)
    })
  }
}
