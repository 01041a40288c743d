import { BaseCommand } from '#src/cli/base-command.ts'
import { purgeStatistics } from '#src/operations/purge-log.ts'

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
        ['Response time', `${overview.avgResponseTime} ms`],
      ])
      output.line()
      await output.table(
        ['hour', 'purges'],
        hourly.map(({ hour, purges, partial }) => [partial ? `${hour} (partial)` : hour, purges]),
      )
      if (topTags.length > 0)
        await output.table(
          ['tag', 'purges'],
          topTags.map(({ tag, count }) => [tag, count]),
        )
      if (proxies.length > 0) {
        const rows = proxies.map(({ name, state, pending, oldestPending, failed, lastError, lastErrorAt }) => [
          name,
          state,
          pending,
          oldestPending,
          failed,
          lastErrorAt,
          lastError,
        ])
        await output.table(
          ['proxy', 'state', 'pending', 'oldest pending', 'failed', 'last error at', 'last error'],
          rows,
        )
      }
    })
  }
}
