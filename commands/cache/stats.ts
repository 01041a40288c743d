import { BaseCommand } from '#src/cli/base-command.ts'
import { presentStatistics } from '#src/cli/present-statistics.ts'
import { cacheStatistics } from '#src/operations/cache.ts'

export default class CacheStats extends BaseCommand {
  static override summary = 'Show how many pages are cached, their sizes and times.'
  static override examples = [
    { description: 'The statistics as tables', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The number of cached product pages',
      command: '<%= config.bin %> <%= command.id %> --json | jq .byType.products',
    },
  ]

  async run() {
    await this.parse(CacheStats)
    return this.perform(cacheStatistics, {}, presentStatistics)
  }
}
