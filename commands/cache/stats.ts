import { BaseCommand } from '#src/cli/base-command.ts'
import { watchFlags } from '#src/cli/flags.ts'
import { presentStatistics } from '#src/cli/present-statistics.ts'
import { cacheStatistics } from '#src/operations/cache.ts'

export default class CacheStats extends BaseCommand {
  static override summary = 'Show the number of cached pages, their size and timings, and the hit ratio.'
  static override examples = [
    { description: 'Show all statistics', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Count the cached product pages',
      command: '<%= config.bin %> <%= command.id %> --json | jq .byType.products',
    },
    { description: 'Watch them during a warmup', command: '<%= config.bin %> <%= command.id %> --watch' },
  ]

  static override flags = watchFlags

  async run() {
    const { flags } = await this.parse(CacheStats)
    return this.repeat(flags, () => this.#show())
  }

  async #show() {
    const ratios = this.jsonEnabled() ? null : await this.#ratios()
    return this.perform(cacheStatistics, {}, (value, output) => presentStatistics(value, ratios, output))
  }

  async #ratios() {
    const { readRatios } = await import('#src/cli/read-ratios.ts')
    return this.performing(readRatios)
  }
}
