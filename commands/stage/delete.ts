import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { plural } from '#src/lib/plural.ts'
import { deleteStage } from '#src/operations/stages.ts'

const fates = ['keep', 'remove'] as const

export default class StageDelete extends BaseCommand {
  static override summary = 'Delete a popup stage.'
  static override description = `Its events stay for their retention (keep), or go with it (remove). Without --events that is asked on a terminal; with --yes
they are kept.`
  static override examples = [
    {
      description: 'Be asked what becomes of its events',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'Leave nothing of it, without a question',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --events remove --yes',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = { id: Args.string({ description: 'The id of the stage.', required: true }) }
  static override flags = {
    events: Flags.option({ options: fates, summary: 'What becomes of its events.', helpValue: '<fate>' })(),
    yes: yesFlag,
  }

  async run() {
    const { args, flags } = await this.parse(StageDelete)
    const { id } = args
    const events =
      flags.events ?? (await this.choose(`Delete the stage ${id}: what becomes of its events?`, fates, flags.yes))
    if (flags.events !== undefined) await this.confirm(`Delete the stage ${id}, and ${events} its events?`, flags.yes)
    return this.perform(deleteStage, { id, events }, (value, output) => {
      output.line(
        `Stage ${value.stage.name} deleted. ${plural(value.events, 'event')} ${value.mode === 'keep' ? 'kept' : 'removed'}.`,
      )
    })
  }
}
