import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { warmupKind } from '#src/cli/find.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentFailures, writeFailures } from '#src/cli/present-failures.ts'
import { warmupArgs } from '#src/cli/warmup-command.ts'
import { listWarmupFailures } from '#src/operations/warmup.ts'

export default class WarmupFailures extends BaseCommand {
  static override summary = 'List the pages that a warmup could not cache, with the reasons.'
  static override description =
    'A page that was fetched but must not be stored (Set-Cookie, private, no-store, too large, bypass) counts as a failure: it remains a miss.'
  static override examples = [
    { description: 'List the failures of the latest warmup', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Export all missing pages to a spreadsheet',
      command: '<%= config.bin %> <%= command.id %> --status 404 --csv > missing.csv',
    },
    {
      description: 'List the URLs that set a cookie',
      command: '<%= config.bin %> <%= command.id %> --error set-cookie --limit 1000 --json | jq -r ".items[].url"',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = warmupArgs
  static override flags = {
    status: Flags.integer({ summary: 'Only responses with this status.', helpValue: '<status>' }),
    error: Flags.string({ summary: 'Only reasons that contain this text.', helpValue: '<text>' }),
    url: Flags.string({ summary: 'Only URLs that contain this text.', helpValue: '<text>' }),
    ...listFlags,
    csv: Flags.boolean({ summary: 'Print all failures as CSV.', exclusive: ['json', 'jsonl', 'limit', 'offset'] }),
  }

  async run() {
    const { args, flags } = await this.parse(WarmupFailures)
    const { status, error, url, limit, offset } = flags
    const progressId = args.id === undefined ? undefined : (await this.find(warmupKind, args.id)).id
    const filter = { progressId, status, error, url }
    if (flags.csv) return this.performing(({ performer }) => writeFailures(performer, filter))
    return this.perform(listWarmupFailures, { ...filter, limit, offset }, (value, output) =>
      presentFailures(value, output, flags),
    )
  }
}
