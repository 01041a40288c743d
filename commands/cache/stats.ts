import { BaseCommand } from '#src/cli/base-command.ts'
import { presentRatios, presentStatistics, readRatios } from '#src/cli/present-statistics.ts'
import { cacheStatistics } from '#src/operations/cache.ts'

export default class CacheStats extends BaseCommand {
  static override summary = 'Show the number of cached pages, their size and timings, and the hit ratio.'
  static override examples = [
    { description: 'Show all statistics', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Count the cached product pages',
      command: '<%= config.bin %> <%= command.id %> --json | jq .byType.products',
    },
  ]

  async run() {
    await this.parse(CacheStats)
    const ratios = this.jsonEnabled() ? null : await this.performing(readRatios)
    return this.perform(cacheStatistics, {}, async (value, output) => {
      if (ratios !== null) presentRatios(ratios, output)
      await presentStatistics(value, output)
    })
  }
}
