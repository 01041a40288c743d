import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { presentStageStatistics } from '#src/cli/present-stage.ts'
import { stageStatistics } from '#src/operations/stages.ts'

export default class StageStats extends BaseCommand {
  static override summary = 'Show what visitors did with a popup stage.'
  static override examples = [
    {
      description: 'All time, with a chart',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'November, as numbers',
      command:
        '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --from 2026-11-01 --to 2026-11-30 --json | jq .totals',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = { id: Args.string({ description: 'The id of the stage.', required: true }) }
  static override flags = {
    from: Flags.string({ summary: 'The first day (UTC).', helpValue: '<YYYY-MM-DD>' }),
    to: Flags.string({ summary: 'The last day (UTC).', helpValue: '<YYYY-MM-DD>' }),
  }

  async run() {
    const { args, flags } = await this.parse(StageStats)
    return this.perform(
      stageStatistics,
      { popupId: args.id, dateFrom: flags.from ?? null, dateTo: flags.to ?? null },
      presentStageStatistics,
    )
  }
}
