import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { presentStageStatistics } from '#src/cli/present-stage.ts'
import { stageStatistics } from '#src/operations/stages.ts'

export default class StageStats extends BaseCommand {
  static override summary = 'Show the statistics of a popup stage.'
  static override examples = [
    {
      description: 'Show all time, with a chart',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'Print the totals of November',
      command:
        '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --from 2026-11-01 --to 2026-11-30 --json | jq .totals',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }
  static override flags = {
    from: Flags.string({ summary: 'First day (UTC).', helpValue: '<YYYY-MM-DD>' }),
    to: Flags.string({ summary: 'Last day (UTC).', helpValue: '<YYYY-MM-DD>' }),
  }

  async run() {
    const { args, flags } = await this.parse(StageStats)
    const { id } = await this.find(stageKind, args.id)
    return this.perform(
      stageStatistics,
      { popupId: id, dateFrom: flags.from ?? null, dateTo: flags.to ?? null },
      presentStageStatistics,
    )
  }
}
