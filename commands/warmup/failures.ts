import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { warmupArgs } from '#src/cli/warmup-command.ts'
import { formatCount } from '#src/lib/format-count.ts'
import { plural } from '#src/lib/plural.ts'
import { listWarmupFailures } from '#src/operations/warmup.ts'

/** Lists are read in portions of so many. */
const portion = 1000

export default class WarmupFailures extends BaseCommand {
  static override summary = 'List the pages that a warmup could not bring into the cache, with the reasons.'
  static override description =
    'A page that was fetched and may not be stored (Set-Cookie, private, no-store, too large, bypass) is a failure too: visitors would miss it.'
  static override examples = [
    { description: 'Of the latest warmup', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Every page that was not found, as a table for a spreadsheet',
      command: '<%= config.bin %> <%= command.id %> --status 404 --csv > missing.csv',
    },
    {
      description: 'The URLs that set a cookie',
      command: '<%= config.bin %> <%= command.id %> --error set-cookie --limit 1000 --json | jq -r ".items[].url"',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = warmupArgs
  static override flags = {
    status: Flags.integer({ summary: 'Only those that the shop answered with this status.', helpValue: '<status>' }),
    error: Flags.string({ summary: 'Only those whose reason contains this.', helpValue: '<text>' }),
    url: Flags.string({ summary: 'Only those whose URL contains this.', helpValue: '<text>' }),
    csv: Flags.boolean({ summary: 'Print all of them as CSV.', exclusive: ['json', 'limit', 'offset'] }),
    limit: limitFlag,
    offset: offsetFlag,
  }

  async run() {
    const { args, flags } = await this.parse(WarmupFailures)
    const { status, error, url, limit, offset } = flags
    const filter = { progressId: args.id, status, error, url }
    if (flags.csv) return this.#printAll(filter)
    return this.perform(listWarmupFailures, { ...filter, limit, offset }, async ({ total, reasons, items }, output) => {
      if (output.terminal && reasons.length > 0) {
        output.line('Why pages failed:')
        for (const reason of reasons) output.line(`  ${formatCount(reason.count)} × ${reason.error}`)
      }
      await output.table(
        ['status', 'attempts', 'at', 'url', 'reason'],
        items.map((item) => [item.status, item.attempts, item.at, item.url, item.error]),
      )
      if (output.terminal && items.length < total)
        output.line(`${items.length} of ${plural(total, 'failure')}. More with --limit and --offset, all with --csv.`)
    })
  }

  async #printAll(filter: {
    progressId: string | undefined
    status: number | undefined
    error: string | undefined
    url: string | undefined
  }) {
    const { toCsv } = await import('#src/cli/csv.ts')
    await this.performing(async (performer) => {
      for (let offset = 0, total = 1; offset < total; offset += portion) {
        const value = await performer.perform(listWarmupFailures, { ...filter, limit: portion, offset })
        total = value.total
        const rows = value.items.map((item) => [
          item.url,
          item.variant,
          item.status,
          item.error,
          item.attempts,
          item.at,
        ])
        process.stdout.write(
          toCsv(offset === 0 ? [['url', 'variant', 'status', 'error', 'attempts', 'at'], ...rows] : rows),
        )
      }
    })
  }
}
