import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { plural } from '#src/lib/format.ts'
import { deleteStage } from '#src/operations/stages.ts'

const eventChoices = ['keep', 'remove'] as const

export default class StageDelete extends BaseCommand {
  static override summary = 'Delete a popup stage.'
  static override description = `Its events are kept for their retention period (keep) or deleted too (remove). Without --events, asks on a terminal; with --yes, keeps them.`
  static override examples = [
    {
      description: 'Delete a stage and decide about its events',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'Delete a stage and its events in a script',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --events remove --yes',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }
  static override flags = {
    events: Flags.option({ options: eventChoices, summary: 'Keep or remove its events.', helpValue: '<choice>' })(),
    yes: yesFlag,
  }

  async run() {
    const { args, flags } = await this.parse(StageDelete)
    const { id, name } = await this.find(stageKind, args.id)
    const stage = name === null ? id : `${name} (${id})`
    const hint = 'Add --events keep or --events remove, and --yes to confirm. --yes alone keeps the events.'
    const question = `Delete the stage ${stage} and keep or remove its events?`
    const events = flags.events ?? (await this.choose(question, eventChoices, { yes: flags.yes, hint }))
    if (flags.events !== undefined) await this.confirm(`Delete the stage ${stage} and ${events} its events?`, flags.yes)
    return this.perform(deleteStage, { id, events }, (value, output) => {
      output.prose(
        `Stage ${value.stage.name} deleted. ${plural(value.events, 'event')} ${value.mode === 'keep' ? 'kept' : 'removed'}.`,
      )
    })
  }
}
